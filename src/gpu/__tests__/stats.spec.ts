import { full, GPU0, GPU1, NODE, T0 } from '../../__tests__/wire';
import { Series } from '../series';
import { costOf, statsOf } from '../stats';

const GiB = 2 ** 30;

function recorded(): Series {
  const series = new Series();
  series.update(full());
  return series;
}

describe('statsOf', () => {
  it('leaves out what is unknown', () => {
    const stats = statsOf(recorded(), NODE, GPU0, 'utilization', T0 + 20, T0 + 50);
    expect(stats?.count).toBe(3);
    expect(stats?.low).toBe(87);
    expect(stats?.mean).toBeCloseTo((87 + 90 + 88) / 3, 3);
    expect(stats?.high).toBe(90);
  });

  it('is null when nothing is known', () => {
    expect(statsOf(recorded(), NODE, GPU1, 'utilization', T0)).toBeNull();
    expect(statsOf(recorded(), NODE, 'nobody', 'utilization', T0)).toBeNull();
  });
});

describe('costOf', () => {
  const [node] = full().layout.nodes;

  it('integrates the power of whole GPUs between samples', () => {
    const cost = costOf(recorded(), node, T0 + 20, T0 + 50, 10);
    const first = ((402 + 418) / 2 + (418 + 415) / 2 + (415 + 420) / 2) * 10;
    const second = ((70 + 70) / 2 + (70 + 69) / 2 + (69 + 70) / 2) * 10;
    expect(cost?.energyJ).toBeCloseTo(first + second, 3);
    expect(cost?.complete).toBe(true);
  });

  it('takes a part of an interval at the power it had there', () => {
    const cost = costOf(recorded(), node, T0 + 15, T0 + 25, 10);
    const first = ((237 + 402) / 2) * 5 + ((402 + 410) / 2) * 5;
    const second = ((69.5 + 70) / 2) * 5 + ((70 + 70) / 2) * 5;
    expect(cost?.energyJ).toBeCloseTo(first + second, 3);
  });

  it('adds memory up at one moment, without the slices that lie inside it', () => {
    const cost = costOf(recorded(), node, T0 + 20, T0 + 50, 10);
    expect((cost?.peakMemory ?? 0) / GiB).toBeCloseTo(((31334 + 200) * 2) / 1024, 3);
  });

  it('means the GPUs that tell their utilization', () => {
    expect(costOf(recorded(), node, T0 + 20, T0 + 30, 10)?.meanUtilization).toBeCloseTo((87 + 90) / 2, 3);
  });

  it('never bridges a pause, and says that it is a lower bound', () => {
    const cost = costOf(recorded(), node, T0 + 40, T0 + 660, 10);
    const first = ((415 + 420) / 2 + (70 + 71) / 2) * 10;
    const second = ((69 + 70) / 2 + (69 + 69) / 2) * 10;
    expect(cost?.energyJ).toBeCloseTo(first + second, 3);
    expect(cost?.complete).toBe(false);
  });

  it('says nothing of a cell in which no sample was taken', () => {
    expect(costOf(recorded(), node, T0 + 21, T0 + 29, 10)).toBeNull();
    expect(costOf(recorded(), { ...node, gpus: [] }, T0, T0 + 50, 10)).toBeNull();
  });
});
