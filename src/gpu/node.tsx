/** The section of a node: its state, its GPUs, or why there are none. */
import { caretDownIcon, caretRightIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { useSignal } from '../signal';
import { Detail, HOST_KEY, INode } from '../tokens';
import { gpuCount } from './brief';
import { usePane } from './context';
import { figureOf } from './figures';
import { celsius, clock, join, percent, zone } from './format';
import { lineHeight } from './heat';
import { DotState, StateDot, ToneMark } from './marks';
import { GpuRow, HostRow } from './row';
import { nodeState, temperatureTone } from './words';

/** A node of more GPUs is a strip until it is unfolded. */
const FOLD_ABOVE = 16;

const HeatStrip = React.lazy(() => import('./heatstrip'));

function dotOf(node: INode, paused: boolean, outdated: boolean): DotState {
  switch (node.state) {
    case 'live':
      return outdated ? 'stale' : paused ? 'paused' : 'live';
    case 'stale':
      return 'stale';
    case 'no-gpu':
    case 'no-driver':
      return 'off';
    default:
      return 'error';
  }
}

/** `live · 4 s ago`. */
function Age({ node }: { node: INode }): React.JSX.Element {
  const { model, ticker, trans } = usePane();
  const text = useSignal(ticker.ticked, () =>
    nodeState(node, model.ageS(node.id), model.problem ? 'outdated' : (model.monitor?.state ?? 'live'), trans)
  );
  return (
    <span className="jp-air-Node-age" dir="auto">
      {text}
    </span>
  );
}

/** The hottest GPU of a folded node, when it is worth a warning. */
function Hottest({ node }: { node: INode }): React.JSX.Element | null {
  const { model, settings, trans } = usePane();
  const hottest = useSignal(model.dataChanged, () => model.brief(node)?.temperature ?? 0);
  const tone = temperatureTone(
    hottest,
    useSignal(settings.changed, () => settings.value)
  );
  return tone === 'none' ? null : (
    <span className="jp-air-Figure jp-mod-small" dir="ltr" data-tone={tone}>
      <ToneMark tone={tone} label={trans.__('The hottest GPU')} />
      <span className="jp-air-Figure-value">{join(celsius(hottest))}</span>
    </span>
  );
}

function Simulated(): React.JSX.Element {
  const { trans } = usePane();
  return (
    <span className="jp-air-Tag" title={trans.__('These readings are made up, for trying things out.')}>
      {trans.__('Simulated')}
    </span>
  );
}

/** `2 GPUs · CPU 38 % · memory 121 / 503 GiB`. */
function Facts({ node }: { node: INode }): React.JSX.Element {
  const { model, trans } = usePane();
  const whole = gpuCount(node);
  const slices = node.gpus.length - whole;
  const host = useSignal(model.dataChanged, () => {
    const cpu = model.series.last(node.id, HOST_KEY, 'cpu');
    const memory = model.series.last(node.id, HOST_KEY, 'memory');
    return [
      cpu === null ? '' : trans.__('CPU %1', join(figureOf('cpu', cpu, null))),
      memory === null
        ? ''
        : trans.__('memory %1', join(figureOf('memory', memory, node.host?.memoryTotal ?? null)))
    ]
      .filter(Boolean)
      .join('\n');
  });
  const facts = [
    whole > 0 ? trans._n('%1 GPU', '%1 GPUs', whole) : '',
    slices > 0 ? trans._n('%1 MIG slice', '%1 MIG slices', slices) : '',
    ...(whole > 0 ? host.split('\n') : [])
  ].filter(Boolean);
  return (
    <p className="jp-air-Node-facts">
      {node.simulated && <Simulated />}
      {facts.map((fact, i) => (
        <React.Fragment key={i}>
          {i > 0 && ' · '}
          <bdi>{fact.replace(/ /g, '\u00a0')}</bdi>
        </React.Fragment>
      ))}
    </p>
  );
}

/** Below the last GPU: when the line begins, its middle, and now. */
function TimeAxis({ named }: { named: boolean }): React.JSX.Element {
  const { model, settings, hub, trans } = usePane();
  const labels = useSignal(model.dataChanged, () => {
    const { fromS, toS } = hub.range;
    return model.timeS === 0 ? '' : `${clock(fromS)}\n${clock((fromS + toS) / 2)}\n${zone(toS)}`;
  });
  useSignal(settings.changed, () => settings.windowS);
  const [start, middle, where] = labels.split('\n');
  return (
    <div
      className={named ? 'jp-air-TimeAxis jp-mod-named' : 'jp-air-TimeAxis'}
      title={where}
      aria-hidden="true"
    >
      <div className="jp-air-TimeAxis-labels" dir="ltr">
        <span>{start}</span>
        <span>{middle}</span>
        <span>{trans.__('now')}</span>
      </div>
    </div>
  );
}

/** `8 GPUs · 63 %`: a folded node in figures. */
function InBrief({ node }: { node: INode }): React.JSX.Element {
  const { model, trans } = usePane();
  const busy = useSignal(model.dataChanged, () => {
    const utilization = model.brief(node)?.utilization ?? null;
    return utilization === null ? null : Math.round(utilization);
  });
  const count = gpuCount(node);
  return (
    <span className="jp-air-Node-age" dir="auto">
      <span className="jp-air-Node-count">
        {trans._n('%1 GPU', '%1 GPUs', count)}
        {busy !== null && ' · '}
      </span>
      {busy !== null && join(percent(busy))}
    </span>
  );
}

/** Whether the section is in view, or nearly; of a large fleet it is then followed, as closely as it is shown. */
function useLook(
  section: React.RefObject<HTMLElement>,
  node: string,
  detail: Detail,
  isLarge: boolean
): boolean {
  const { hub, model } = usePane();
  const [seen, setSeen] = React.useState(false);
  React.useEffect(
    () => (section.current && isLarge ? hub.watch(section.current, setSeen) : undefined),
    [hub, section, isLarge]
  );
  React.useEffect(() => {
    if (!isLarge || !seen) {
      return undefined;
    }
    model.look(node, detail);
    return () => model.look(node, null);
  }, [model, node, detail, isLarge, seen]);
  return !isLarge || seen;
}

function useFold(node: INode, isLarge: boolean): [boolean, (folded: boolean) => void] {
  const [chosen, setChosen] = React.useState<boolean | null>(null);
  const many = node.gpus.length > FOLD_ABOVE || (isLarge && !node.local);
  return [node.gpus.length > 0 && (chosen ?? many), setChosen];
}

export const NodeSection = React.memo(function NodeSection({ node }: { node: INode }): React.JSX.Element {
  const { model, settings, trans } = usePane();
  const section = React.useRef<HTMLElement>(null);
  const paused = useSignal(model.stateChanged, () => model.monitor?.state === 'paused');
  const outdated = useSignal(model.stateChanged, () => model.problem !== null);
  const isLarge = useSignal(model.stateChanged, () => model.isLarge);
  const compact = useSignal(settings.changed, () => settings.value.density === 'compact');
  const [folded, fold] = useFold(node, isLarge);
  const seen = useLook(section, node.id, folded ? 'strip' : 'full', isLarge);
  const dot = dotOf(node, paused, outdated);
  const words: Record<DotState, string> = {
    live: trans.__('Live'),
    paused: trans.__('Paused'),
    stale: trans.__('Stale'),
    off: trans.__('No GPU'),
    error: trans.__('Not working')
  };
  const Caret = folded ? caretRightIcon : caretDownIcon;
  const name = (
    <span className="jp-air-Node-nameText" dir="auto">
      {node.name}
    </span>
  );
  return (
    <section
      ref={section}
      className="jp-air-Node"
      aria-label={node.name}
      data-state={node.state}
      data-folded={folded || undefined}
    >
      <div className="jp-air-Node-header">
        <StateDot state={dot} label={words[dot]} />
        <h3
          className="jp-air-Node-name"
          title={node.driver ? trans.__('%1, driver %2', node.name, node.driver) : node.name}
        >
          {node.gpus.length > 0 ? (
            <button
              type="button"
              className="jp-air-Node-fold"
              aria-expanded={!folded}
              onClick={() => fold(!folded)}
            >
              {name}
              <Caret.react tag="span" className="jp-air-Node-caret" aria-hidden="true" />
            </button>
          ) : (
            name
          )}
        </h3>
        {folded && node.simulated && <Simulated />}
        {folded && seen && <Hottest node={node} />}
        {folded && node.state === 'live' ? seen && <InBrief node={node} /> : <Age node={node} />}
      </div>
      {!folded && (node.gpus.length > 0 || node.host !== null) && <Facts node={node} />}
      <Trouble node={node} />
      {folded ? (
        <div
          className="jp-air-StripPlace"
          style={{ height: node.gpus.length * lineHeight(node.gpus.length, compact) }}
        >
          <React.Suspense>{seen && <HeatStrip node={node} />}</React.Suspense>
        </div>
      ) : (
        <>
          {node.gpus.map(gpu => (
            <GpuRow key={gpu.key} node={node} gpu={gpu} />
          ))}
          {node.gpus.length === 0 && node.host !== null && <HostRow node={node} />}
          {(node.gpus.length > 0 || node.host !== null) && <TimeAxis named={node.gpus.length === 0} />}
        </>
      )}
    </section>
  );
});

/** Why a node is not live, and what to do. */
function Trouble({ node }: { node: INode }): React.JSX.Element | null {
  const { model, trans } = usePane();
  if (node.state === 'live') {
    return null;
  }
  const fallback = {
    stale: trans.__('This node has not answered for a while.'),
    'no-driver': trans.__('There is no working NVIDIA driver on this machine.'),
    'no-gpu': trans.__('This machine has no NVIDIA GPU.'),
    error: trans.__('The readings of this node cannot be had.')
  }[node.state];
  const offersDemo =
    node.local && (node.state === 'no-gpu' || node.state === 'no-driver') && model.nodes.length === 1;
  return (
    <div className="jp-air-Node-trouble">
      <p>{node.reason ?? fallback}</p>
      {node.hint && <p>{node.hint}</p>}
      {offersDemo && (
        <p>
          {trans.__('To see the pane with a simulated fleet:')}
          <code className="jp-air-Command" dir="ltr">
            jupyter lab --JupyterAir.simulate=2x8
          </code>
        </p>
      )}
    </div>
  );
}
