/** A row for a GPU or a MIG slice, and the two lines of a host that has no GPU. */
import React from 'react';
import { useSignal } from '../signal';
import { IGpu, INode } from '../tokens';
import { usePane } from './context';
import { CursorLayer } from './cursor';
import { watts } from './format';
import { MetricLine, ShownMetric } from './line';
import { ToneMark } from './marks';
import { ReadingsTable } from './table';
import { gpuTitle, throttle } from './words';

const GPU_LINES: readonly ShownMetric[] = ['utilization', 'memory', 'temperature'];
const HOST_LINES: readonly ShownMetric[] = ['cpu', 'memory'];

/** Power, and what slows the GPU down. */
function Power({ node, gpu }: { node: INode; gpu: IGpu }): React.JSX.Element | null {
  const { model, trans } = usePane();
  const power = useSignal(model.dataChanged, () => {
    const value = model.series.last(node.id, gpu.key, 'power');
    return value === null ? null : watts(value);
  });
  const mask = useSignal(model.dataChanged, () => model.series.last(node.id, gpu.key, 'throttle'));
  const slowed = throttle(mask, model.throttleReasons, trans);
  if (gpu.parent !== null && power === null) {
    // A slice has no power of its own.
    return null;
  }
  const limit = gpu.powerLimit === null ? '' : trans.__('Limit %1.', watts(gpu.powerLimit));
  const title = [slowed ? trans.__('Slowed down: %1.', slowed.words) : '', limit].filter(Boolean).join(' ');
  return (
    <span className="jp-air-Gpu-power" title={title || undefined}>
      {slowed && (
        <span className="jp-air-Gpu-throttle" data-tone={slowed.alarm ? 'warn' : 'none'}>
          {slowed.alarm && <ToneMark tone="warn" label={trans.__('Slowed down')} />}
          <span className="jp-air-Gpu-throttleWords">{slowed.words}</span>
          <span aria-hidden="true">·</span>
        </span>
      )}
      {power !== null && <bdi>{power}</bdi>}
      {power === null && (
        <span title={trans.__('The GPU does not report its power.')}>{trans.__('n/a')}</span>
      )}
    </span>
  );
}

/** The metrics worth a line: all of a GPU, of a slice those it tells. */
function useLines(node: INode, gpu: IGpu): readonly ShownMetric[] {
  const { model } = usePane();
  const told = useSignal(model.dataChanged, () =>
    GPU_LINES.filter(metric => {
      const column = model.series.column(node.id, gpu.key, metric);
      for (let i = model.series.length - 1; i >= 0; i--) {
        if (column.length && !Number.isNaN(column[i])) {
          return true;
        }
      }
      return false;
    }).join(' ')
  );
  return React.useMemo(() => {
    const known = GPU_LINES.filter(metric => told.split(' ').includes(metric));
    if (gpu.state === 'ok') {
      return gpu.parent === null ? GPU_LINES : GPU_LINES.filter(m => m === 'memory' || known.includes(m));
    }
    return known;
  }, [told, gpu.state, gpu.parent]);
}

export const GpuRow = React.memo(function GpuRow({
  node,
  gpu
}: {
  node: INode;
  gpu: IGpu;
}): React.JSX.Element {
  const { trans, Holders } = usePane();
  const lines = useLines(node, gpu);
  const title = gpuTitle(gpu, trans);
  // The maker goes without saying; the whole name is in the title.
  const name = gpu.migProfile ?? gpu.name.replace(/^NVIDIA /, '');
  const full = [gpu.name, gpu.migProfile].filter(Boolean).join(', ');
  return (
    <div
      role="group"
      className="jp-air-Gpu"
      data-slice={gpu.parent !== null || undefined}
      data-state={gpu.state}
      aria-label={`${title}, ${full}`}
    >
      <div className="jp-air-Gpu-header">
        <span className="jp-air-Gpu-index" title={title}>
          {gpu.index}
        </span>
        <h4 className="jp-air-Gpu-name" title={full} dir="auto">
          {name || title}
        </h4>
        {gpu.state === 'ok' && <Power node={node} gpu={gpu} />}
      </div>
      {gpu.state !== 'ok' && <Trouble gpu={gpu} />}
      {lines.length > 0 && (
        <div className="jp-air-Lines">
          {lines.map(metric => (
            <MetricLine key={metric} node={node} gpu={gpu} metric={metric} />
          ))}
          <CursorLayer node={node} gpu={gpu} metrics={lines} />
        </div>
      )}
      {node.local && (
        <React.Suspense fallback={null}>
          <Holders node={node} gpu={gpu} />
        </React.Suspense>
      )}
      {lines.length > 0 && <ReadingsTable node={node} gpu={gpu} />}
    </div>
  );
});

function Trouble({ gpu }: { gpu: IGpu }): React.JSX.Element {
  const { trans } = usePane();
  const word = {
    ok: '',
    lost: trans.__('Lost'),
    missing: trans.__('Missing'),
    error: trans.__('Error')
  }[gpu.state];
  return (
    <p className="jp-air-Gpu-trouble">
      <ToneMark tone="error" label={word} />
      <span>{gpu.reason ?? trans.__('This GPU gives no readings.')}</span>
    </p>
  );
}

/** CPU and memory of a host: all there is to see where there is no GPU. */
export function HostRow({ node }: { node: INode }): React.JSX.Element {
  const { trans } = usePane();
  return (
    <div role="group" className="jp-air-Gpu" aria-label={trans.__('CPU and memory of %1', node.name)}>
      <div className="jp-air-Lines jp-mod-named">
        {HOST_LINES.map(metric => (
          <React.Fragment key={metric}>
            <span className="jp-air-Lines-name">
              {metric === 'cpu' ? trans.__('CPU') : trans.__('Memory')}
            </span>
            <MetricLine node={node} gpu={null} metric={metric} />
          </React.Fragment>
        ))}
        <CursorLayer node={node} gpu={null} metrics={HOST_LINES} />
      </div>
    </div>
  );
}
