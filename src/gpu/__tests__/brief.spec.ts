import { fleet, full } from '../../__tests__/wire';
import { IBrief, INode } from '../../tokens';
import { briefOf, totals } from '../brief';
import { Series } from '../series';

describe('briefOf', () => {
  it('says of a node what the server would', () => {
    const answer = fleet();
    const series = new Series();
    series.update(answer);
    const [first] = answer.layout.nodes;
    const own = briefOf(series, first)!;
    const told = answer.briefs![0]!;
    expect(Math.round(own.utilization!)).toBe(told.utilization);
    expect(own.memoryTotal).toBe(told.memoryTotal);
    // The ring counts memory in steps of 2 MiB.
    expect(Math.abs(own.memoryUsed! - told.memoryUsed!)).toBeLessThan(8 * 2 ** 21);
    expect(Math.abs(own.power! - told.power!)).toBeLessThan(8);
    expect([own.temperature, own.throttle]).toEqual([told.temperature, told.throttle]);
  });

  it('counts the memory of a slice with its GPU', () => {
    const answer = full();
    const series = new Series();
    series.update(answer);
    const [node] = answer.layout.nodes;
    expect(briefOf(series, node)!.memoryTotal).toBe(node.gpus[0].memoryTotal! + node.gpus[1].memoryTotal!);
    expect(briefOf(series, { ...node, gpus: [] })).toBeNull();
  });
});

describe('totals', () => {
  const node = (id: string, gpus: number): INode => {
    const [{ gpus: all, ...rest }] = fleet().layout.nodes;
    return { ...rest, id, gpus: all.slice(0, gpus) };
  };
  const brief = (utilization: number | null, memoryUsed: number | null): IBrief => ({
    utilization,
    memoryUsed,
    memoryTotal: 100,
    temperature: 60,
    power: 300,
    throttle: 0
  });

  it('weighs utilization by GPUs and adds up what is told', () => {
    const briefs = new Map<string, IBrief | null>([
      ['a', brief(100, 40)],
      ['b', brief(0, null)],
      ['c', brief(null, 7)],
      ['d', null]
    ]);
    const nodes = [node('a', 6), node('b', 2), node('c', 8), node('d', 0)];
    expect(totals(nodes, one => briefs.get(one.id) ?? null)).toEqual({
      nodes: 4,
      gpus: 16,
      utilization: 75,
      memoryUsed: 47,
      memoryTotal: 300,
      power: 900
    });
  });

  it('knows nothing of nothing', () => {
    expect(totals([], () => null)).toMatchObject({ gpus: 0, utilization: null, power: null });
  });
});
