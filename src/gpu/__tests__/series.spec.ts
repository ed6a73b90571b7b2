import { fleet, full, GPU0, GPU1, gpuColumn, next, NODE, SLICE, T0 } from '../../__tests__/wire';
import { IGpuPoll } from '../../api';
import { HOST_KEY } from '../../tokens';
import { Series } from '../series';

function filled(...polls: IGpuPoll[]): Series {
  const series = new Series();
  polls.forEach(poll => series.update(poll));
  return series;
}

function timesOf(series: Series): number[] {
  return Array.from({ length: series.length }, (_, i) => series.time(i) - T0);
}

describe('Series', () => {
  it('puts rows of nothing into a pause, on both its sides', () => {
    const series = filled(full());
    expect(timesOf(series)).toEqual([0, 10, 20, 30, 40, 50, 55, 645, 650, 660, 670, 680]);
    const { values } = series.points(NODE, GPU0, 'power', T0);
    expect(values.slice(5, 9)).toEqual([420, null, null, 70]);
  });

  it('has no gap where the interval merely varies', () => {
    const somewhere = [0, 9.7, 3, 9.5, 0.1, 5, 8, 2, 9, 4];
    const poll = { ...full(), times: Float64Array.from(somewhere, (into, i) => T0 + i * 10 + into) };
    expect(filled(poll).length).toBe(10);
    const apart = { ...full(), times: Float64Array.from(somewhere, (into, i) => T0 + i * 20 + into) };
    expect(filled(apart).length).toBe(10 + 9 * 2);
  });

  it('replaces what comes again and appends the rest', () => {
    const series = filled(full(), next());
    expect(timesOf(series)).toEqual([0, 10, 20, 30, 40, 50, 55, 645, 650, 660, 670, 680, 690]);
    expect(series.at(NODE, GPU0, 'utilization', 11)).toBe(87);
    expect(series.last(NODE, GPU0, 'utilization')).toBe(90);
  });

  it('replaces everything from 0 on', () => {
    expect(filled(full(), next(), full()).length).toBe(12);
  });

  it('makes the gap anew when the far side of a pause is replaced', () => {
    const later: IGpuPoll = { ...next(), replaceFromS: T0 + 650, times: Float64Array.of(T0 + 700, T0 + 710) };
    const series = filled(full(), later);
    expect(timesOf(series)).toEqual([0, 10, 20, 30, 40, 50, 55, 695, 700, 710]);
    expect(series.points(NODE, GPU0, 'power', T0).values.slice(5)).toEqual([420, null, null, 413, 419]);
  });

  it('forgets what left the window, and keeps the line to the edge', () => {
    const late: IGpuPoll = { ...next(), timeS: T0 + 720, windowS: 60, replaceFromS: T0 + 700 };
    const series = filled(full(), { ...late, times: Float64Array.of(T0 + 700, T0 + 710) });
    expect(timesOf(series)).toEqual([650, 660, 670, 680, 685, 695, 700, 710]);
    expect(series.at(NODE, GPU0, 'power', 3)).toBe(412);
  });

  it('holds two hours in bounded memory', () => {
    const series = filled(full());
    for (let k = 1; k <= 2000; k++) {
      const times = Float64Array.of(T0 + 680 + k * 10, T0 + 685 + k * 10);
      series.update({ ...next(), times, timeS: times[1], replaceFromS: times[0] });
    }
    expect(series.length).toBeLessThan(2200);
    expect(series.column(NODE, GPU0, 'power').length).toBeLessThan(4000);
    expect(series.last(NODE, GPU0, 'power')).toBe(419);
  });

  it('knows nothing of the past of a GPU that is new, and drops one that is gone', () => {
    const before = full();
    const [node] = before.layout.nodes;
    const one: IGpuPoll = {
      ...before,
      layout: { ...before.layout, nodes: [{ ...node, gpus: node.gpus.slice(0, 1) }] },
      columns: [{ ...before.columns[0]!, gpus: before.columns[0]!.gpus.slice(0, 1) }]
    };
    const series = filled(one, { ...next(), layoutChanged: true });
    expect(series.at(NODE, GPU1, 'power', 0)).toBeNull();
    expect(series.last(NODE, GPU1, 'power')).toBe(70);
    series.update({ ...one, replaceFromS: T0 + 700, times: new Float64Array(0) });
    expect(series.column(NODE, SLICE, 'memory')).toHaveLength(0);
    expect(series.last(NODE, SLICE, 'memory')).toBeNull();
  });

  it('finds the sample at a time, and none in a pause', () => {
    const series = filled(full());
    expect(series.time(series.nearest(T0 + 24, 10))).toBe(T0 + 20);
    expect(series.time(series.nearest(T0 + 26, 10))).toBe(T0 + 30);
    expect(series.nearest(T0 + 300, 10)).toBe(-1);
    expect(series.nearest(T0 - 100, 10)).toBe(-1);
    expect(new Series().nearest(T0, 10)).toBe(-1);
  });

  it('begins a chart one sample before its edge', () => {
    expect(filled(full()).points(NODE, HOST_KEY, 'cpu', T0 + 655).times[0]).toBe(T0 + 650);
  });

  it('holds what it is given of a large fleet, and fills in the past of a node by its times', () => {
    const answer = fleet();
    const [first, , third] = answer.layout.nodes;
    const brief: IGpuPoll = { ...answer, columns: [null, null, null], times: answer.times.slice(1) };
    const series = filled(brief);
    expect(series.column(first.id, first.gpus[0].key, 'utilization')).toHaveLength(0);
    series.fill({ ...answer, columns: [answer.columns[0], null, null] });
    const wanted = Array.from(gpuColumn(answer, 3, 'memory'));
    expect(series.points(first.id, first.gpus[3].key, 'memory', 0).values).toEqual(wanted.slice(1));
    expect(series.last(third.id, third.gpus[0].key, 'utilization')).toBeNull();
    series.drop(first.id);
    expect(series.column(first.id, first.gpus[3].key, 'memory')).toHaveLength(0);
  });

  it('knows nothing at times for which the past has no sample', () => {
    const answer = fleet();
    const [first] = answer.layout.nodes;
    const later = Float64Array.of(answer.times[0], answer.times[1] + 0.3, answer.times[2]);
    const series = filled({ ...answer, columns: [null, null, null], times: later });
    series.fill(answer);
    const { values } = series.points(first.id, first.gpus[0].key, 'utilization', 0);
    expect(values.map(value => value === null)).toEqual([false, true, false]);
  });
});
