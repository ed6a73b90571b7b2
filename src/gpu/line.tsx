/** One chart and the figure beside it. */
import React from 'react';
import { useSignal } from '../signal';
import { GpuMetric, HOST_KEY, IGpu, INode } from '../tokens';
import { Chart } from './chart';
import { usePane } from './context';
import { figureOf, textOf, topOf, toneOf } from './figures';
import { ToneMark } from './marks';
import { Metric } from './series';
import { statsOf } from './stats';
import { metricTitle, whyMissing } from './words';

export type ShownMetric = 'cpu' | 'memory' | 'utilization' | 'temperature';

interface ILineProps {
  readonly node: INode;
  /** Null for the host's own figures. */
  readonly gpu: IGpu | null;
  readonly metric: ShownMetric;
}

/**
 * Changes when what is said about charts is to be said anew: once in a minute of the server's, and when readings begin or
 * end.
 */
export function useSaying(node: INode, key: string, metrics: readonly Metric[]): string {
  const { model } = usePane();
  return useSignal(model.dataChanged, () => {
    const told = metrics.filter(metric => model.series.last(node.id, key, metric) !== null);
    return `${Math.floor(model.timeS / 60)} ${told.join(' ')}`;
  });
}

/** The chart in a sentence. */
function useSummary({ node, gpu, metric }: ILineProps): string {
  const { model, settings, hub, trans } = usePane();
  const key = gpu?.key ?? HOST_KEY;
  const saying = useSaying(node, key, [metric]);
  const window = useSignal(settings.changed, () => settings.windowS);
  return React.useMemo(() => {
    const stats = statsOf(model.series, node.id, key, metric, hub.range.fromS);
    const title = metricTitle(metric, trans);
    if (stats === null) {
      return trans.__('%1: no readings', title);
    }
    const say = (value: number): string => textOf(metric, value, trans);
    const last = model.series.last(node.id, key, metric);
    return trans.__(
      '%1: now %2; lowest %3, mean %4, highest %5',
      title,
      textOf(metric, last, trans),
      say(stats.low),
      say(stats.mean),
      say(stats.high)
    );
    // `saying` and the window stand for the readings, which are not React's.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [model, node.id, key, metric, trans, saying, window]);
}

function Figure({ node, gpu, metric }: ILineProps): React.JSX.Element {
  const { model, settings, trans } = usePane();
  const key = gpu?.key ?? HOST_KEY;
  const total = (gpu ?? node.host)?.memoryTotal ?? null;
  // What is shown, not what was read, decides about rendering again.
  const shown = useSignal(model.dataChanged, () => {
    const value = model.series.last(node.id, key, metric);
    const figure = value === null ? null : figureOf(metric, value, total);
    return figure && `${figure.value}\n${figure.unit}`;
  });
  const thresholds = useSignal(settings.changed, () => settings.value);
  const tone = useSignal(model.dataChanged, () =>
    gpu === null ? 'none' : toneOf(metric, model.series.last(node.id, key, metric), total, thresholds)
  );
  if (shown === null) {
    const reason =
      gpu === null
        ? trans.__('The host does not report this.')
        : whyMissing(node, gpu, metric as GpuMetric, trans);
    return (
      <span className="jp-air-Figure" title={reason} dir="auto">
        <span className="jp-air-Figure-none">{trans.__('n/a')}</span>
        <span className="jp-air-sr"> ({reason})</span>
      </span>
    );
  }
  const [value, unit] = shown.split('\n');
  const past =
    metric === 'memory'
      ? trans.__('above %1 % of the memory', thresholds.memoryWarnPercent)
      : trans.__('above %1 °C', tone === 'error' ? thresholds.temperatureError : thresholds.temperatureWarn);
  return (
    <span className="jp-air-Figure" data-tone={tone} dir="ltr">
      <ToneMark tone={tone} label={past} />
      <span className="jp-air-Figure-value">{value}</span>
      <span className="jp-air-Figure-unit">{` ${unit}`}</span>
    </span>
  );
}

export const MetricLine = React.memo(function MetricLine(props: ILineProps): React.JSX.Element {
  const { node, gpu, metric } = props;
  const { hub, model } = usePane();
  const host = React.useRef<HTMLDivElement>(null);
  const summary = useSummary(props);
  const key = gpu?.key ?? HOST_KEY;
  const top = topOf(metric, gpu ?? node.host);
  const stale = node.state === 'stale' || node.state === 'error' || (gpu !== null && gpu.state !== 'ok');
  React.useEffect(() => {
    if (!host.current) {
      return undefined;
    }
    const chart = new Chart(host.current, hub, {
      node: node.id,
      gpu: key,
      metric,
      max: () => top ?? statsOf(model.series, node.id, key, metric, 0)?.high ?? 1,
      stale: () => stale || model.problem !== null,
      bands: node.local
    });
    return () => chart.dispose();
  }, [hub, model, node.id, node.local, key, metric, top, stale]);
  return (
    <>
      <div ref={host} className="jp-air-Chart" role="img" aria-label={summary} dir="ltr" />
      <Figure {...props} />
    </>
  );
});
