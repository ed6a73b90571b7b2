/** What the charts say at the cursor. Loaded when it first moves. */
import React from 'react';
import { useSignal } from '../signal';
import { GPU_METRICS, GpuMetric, HOST_KEY, HOST_METRICS } from '../tokens';
import { IBand, notebookName } from './bands';
import { usePane } from './context';
import { textOf } from './figures';
import { bytes, bytesOf, clockSeconds, duration, energy, join, percent, shortZone } from './format';
import { ICursor } from './hub';
import { Metric } from './series';
import { costOf } from './stats';
import { gpuTitle, metricTitle, throttle } from './words';

const MARGIN = 6;

function Band({ band, cursor }: { band: IBand; cursor: ICursor }): React.JSX.Element {
  const { model, trans } = usePane();
  const node = model.nodes.find(one => one.id === cursor.node);
  const startS = band.startMs / 1000 + model.clockOffsetS;
  const endS = band.endMs === null ? model.serverNowS : band.endMs / 1000 + model.clockOffsetS;
  const cost = node ? costOf(model.series, node, startS, endS, model.pollIntervalS) : null;
  const name = notebookName(band.path);
  const title = band.endMs === null ? `${name} [*]` : `${name} [${band.count ?? ' '}]`;
  const atLeast = cost?.complete === false ? '≥\u00a0' : '';
  const figures = cost
    ? [
        cost.meanUtilization === null ? '' : trans.__('mean %1', join(percent(cost.meanUtilization))),
        cost.peakMemory === null ? '' : trans.__('peak %1', bytes(cost.peakMemory)),
        cost.energyJ === null ? '' : `${atLeast}${energy(cost.energyJ)}`
      ].filter(Boolean)
    : [];
  return (
    <div className="jp-air-Readout-band">
      <div className="jp-air-Readout-bandName">
        <span dir="auto">{title}</span>
        <span>
          {band.endMs === null
            ? trans.__('running for %1', duration(endS - startS, trans))
            : duration(endS - startS, trans)}
        </span>
      </div>
      {figures.length > 0 && <div>{figures.join(' · ')}</div>}
    </div>
  );
}

function Content({ cursor }: { cursor: ICursor }): React.JSX.Element | null {
  const { model, bands, trans } = usePane();
  const node = model.nodes.find(one => one.id === cursor.node);
  const gpu = node?.gpus.find(one => one.key === cursor.gpu) ?? null;
  if (!node) {
    return null;
  }
  const row = model.series.nearest(cursor.timeS, model.pollIntervalS);
  const read = (metric: Metric): number | null => model.series.at(node.id, cursor.gpu, metric, row);
  const total = cursor.gpu === HOST_KEY ? node.host?.memoryTotal : gpu?.memoryTotal;
  const say = (metric: Metric): string => {
    const value = read(metric);
    if (metric === 'throttle') {
      return throttle(value, model.throttleReasons, trans)?.words ?? '';
    }
    return metric === 'memory' && value !== null && total
      ? join(bytesOf(value, total))
      : textOf(metric, value, trans);
  };
  const all: readonly Metric[] = cursor.gpu === HOST_KEY ? HOST_METRICS : GPU_METRICS;
  // Of a node that is shown as a strip only the utilization is here.
  const metrics = all.filter(metric => model.series.column(node.id, cursor.gpu, metric).length > 0);
  const lines = metrics
    .map(metric => [metric, say(metric)] as const)
    .filter(([metric, text]) => text !== '' && (read(metric) !== null || gpu?.parent === null));
  const band = node.local ? bands.at((cursor.timeS - model.clockOffsetS) * 1000) : null;
  return (
    <>
      <div className="jp-air-Readout-head">
        <span>{gpu ? gpuTitle(gpu, trans) : node.name}</span>
        <span>
          {clockSeconds(cursor.timeS)} <span className="jp-air-Readout-zone">{shortZone(cursor.timeS)}</span>
        </span>
      </div>
      {row < 0 || metrics.every(metric => read(metric) === null) ? (
        <div>{trans.__('Not sampled then')}</div>
      ) : (
        <dl>
          {lines.map(([metric, text]) => (
            <React.Fragment key={metric}>
              <dt>{metricTitle(metric as GpuMetric, trans)}</dt>
              <dd>{text}</dd>
            </React.Fragment>
          ))}
        </dl>
      )}
      {band && <Band band={band} cursor={cursor} />}
    </>
  );
}

/** Below what the cursor hangs on, or above it where there is no room; always inside the pane. */
export default function Readout(): React.JSX.Element {
  const { hub, model } = usePane();
  const cursor = useSignal(hub.cursorChanged, () => hub.cursor);
  useSignal(model.dataChanged, () => model.timeS);
  const card = React.useRef<HTMLDivElement>(null);
  React.useLayoutEffect(() => {
    if (!card.current || !cursor) {
      return;
    }
    const pane = hub.root.getBoundingClientRect();
    const anchor = cursor.anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = card.current;
    const below = anchor.bottom - pane.top + MARGIN;
    const above = anchor.top - pane.top - height - MARGIN;
    const fits = below + height <= pane.height - MARGIN || above < MARGIN;
    const x = anchor.left - pane.left + cursor.at * anchor.width - width / 2;
    const left = Math.max(MARGIN, Math.min(pane.width - width - MARGIN, x));
    card.current.style.transform = `translate(${Math.round(left)}px, ${Math.round(fits ? below : above)}px)`;
  });
  return (
    <div ref={card} className="jp-air-Readout" aria-hidden="true" hidden={cursor === null} dir="auto">
      {cursor && <Content cursor={cursor} />}
    </div>
  );
}
