/** The charts of a GPU as a table, for those who hear them. */
import React from 'react';
import { useSignal } from '../signal';
import { GpuMetric, IGpu, INode } from '../tokens';
import { usePane } from './context';
import { textOf } from './figures';
import { clock } from './format';
import { useSaying } from './line';
import { IStats, statsOf } from './stats';
import { gpuTitle, metricTitle } from './words';

const METRICS: readonly GpuMetric[] = ['utilization', 'memory', 'temperature', 'power'];
const POINTS = 12;

export const ReadingsTable = React.memo(function ReadingsTable(props: {
  node: INode;
  gpu: IGpu;
}): React.JSX.Element {
  const { node, gpu } = props;
  const { model, settings, hub, trans } = usePane();
  const windowS = useSignal(settings.changed, () => settings.windowS);
  useSaying(node, gpu.key, METRICS);
  const { series } = model;
  const { fromS } = hub.range;
  const stats = METRICS.map(metric => statsOf(series, node.id, gpu.key, metric, fromS));
  const row = (name: string, cells: readonly (number | null)[]): React.JSX.Element => (
    <tr key={name}>
      <th scope="row">{name}</th>
      {cells.map((value, i) => (
        <td key={METRICS[i]}>{textOf(METRICS[i], value, trans)}</td>
      ))}
    </tr>
  );
  const pick = (read: (one: IStats) => number): (number | null)[] =>
    stats.map(one => (one ? read(one) : null));
  const times = Array.from({ length: POINTS }, (_, i) => fromS + (windowS * (i + 0.5)) / POINTS);
  return (
    <div className="jp-air-sr">
      <table>
        <caption>{trans.__('Readings of %1', gpuTitle(gpu, trans))}</caption>
        <thead>
          <tr>
            <th scope="col">{trans.__('Time')}</th>
            {METRICS.map(metric => (
              <th scope="col" key={metric}>
                {metricTitle(metric, trans)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {row(
            trans.__('Now'),
            METRICS.map(metric => series.last(node.id, gpu.key, metric))
          )}
          {row(
            trans.__('Lowest'),
            pick(one => one.low)
          )}
          {row(
            trans.__('Mean'),
            pick(one => one.mean)
          )}
          {row(
            trans.__('Highest'),
            pick(one => one.high)
          )}
          {times.map(time => {
            const at = series.nearest(time, model.pollIntervalS);
            return row(
              clock(time),
              METRICS.map(metric => series.at(node.id, gpu.key, metric, at))
            );
          })}
        </tbody>
      </table>
    </div>
  );
});
