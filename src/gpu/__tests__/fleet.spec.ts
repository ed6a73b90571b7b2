import { fleet } from '../../__tests__/wire';
import { IBrief, INode } from '../../tokens';
import { Arrangement, found, sorted, troubleOf } from '../fleet';
import { DEFAULTS } from '../settings';

const [SOME] = fleet().layout.nodes;

function node(name: string, changes: Partial<INode> = {}): INode {
  return { ...SOME, id: name, name, ...changes };
}

function brief(changes: Partial<IBrief>): IBrief {
  return {
    utilization: 50,
    memoryUsed: 1,
    memoryTotal: 2,
    temperature: 60,
    power: 300,
    throttle: 0,
    ...changes
  };
}

const names = (nodes: readonly INode[]): string[] => nodes.map(one => one.name);

describe('found', () => {
  const nodes = [
    node('dgx-1'),
    node('dgx-2', { state: 'error', reason: 'Connection refused by the exporter on port 9400.' }),
    node('lab', { gpus: SOME.gpus.map(gpu => ({ ...gpu, name: 'NVIDIA A100' })) })
  ];

  it.each([
    ['', ['dgx-1', 'dgx-2', 'lab']],
    ['  DGX ', ['dgx-1', 'dgx-2']],
    ['a100', ['lab']],
    ['dgx refused', ['dgx-2']],
    ['error', ['dgx-2']],
    ['.*', []]
  ])('by %p', (search, expected) => {
    expect(names(found(nodes, search))).toEqual(expected);
  });
});

describe('troubleOf', () => {
  it.each([
    ['a node without readings', node('n', { state: 'stale' }), brief({}), 4],
    ['a lost GPU', node('n', { gpus: [{ ...SOME.gpus[0], state: 'lost' }] }), brief({}), 3],
    ['a hot one', node('n'), brief({ temperature: 95 }), 2],
    ['a warm one', node('n'), brief({ temperature: 82 }), 1],
    ['a thermal slowdown', node('n'), brief({ throttle: 0b100000 }), 1],
    ['a power cap, which is everyday', node('n'), brief({ throttle: 0b100 }), 0],
    ['no GPU at all', node('n', { state: 'no-gpu', gpus: [] }), null, 0]
  ])('%s', (_, one, its, expected) => {
    expect(troubleOf(one, its, DEFAULTS)).toBe(expected);
  });
});

describe('sorted', () => {
  const nodes = [node('n10'), node('n9'), node('here', { local: true }), node('broken', { state: 'error' })];
  const loads: Record<string, number | null> = { n10: 20, n9: 90, here: 90, broken: null };
  const its = (one: INode): IBrief => brief({ utilization: loads[one.name] });

  it.each([
    ['name', ['here', 'broken', 'n9', 'n10']],
    ['busiest', ['here', 'n9', 'n10', 'broken']],
    ['idlest', ['n10', 'here', 'n9', 'broken']],
    ['trouble', ['broken', 'here', 'n9', 'n10']]
  ] as const)('by %s', (order, expected) => {
    expect(names(sorted(nodes, order, its, DEFAULTS))).toEqual(expected);
  });

  it('has a machine that only serves Jupyter last', () => {
    const hub = node('a-hub', { local: true, state: 'no-gpu', gpus: [] });
    expect(names(sorted([hub, node('n1')], 'name', its, DEFAULTS))).toEqual(['n1', 'a-hub']);
  });
});

describe('Arrangement', () => {
  it('moves nothing while a person is among the nodes', () => {
    const loads: Record<string, number> = { a: 10, b: 90 };
    const its = (one: INode): IBrief => brief({ utilization: loads[one.name] });
    const [a, b, c] = [node('a'), node('b'), node('c')];
    loads.c = 50;
    const arrangement = new Arrangement();
    const arrange = (nodes: INode[]): string[] => names(arrangement.arrange(nodes, 'busiest', its, DEFAULTS));
    expect(arrange([a, b])).toEqual(['b', 'a']);
    arrangement.hold(true);
    loads.a = 100;
    expect(arrange([a, b])).toEqual(['b', 'a']);
    expect(arrange([c, a, b])).toEqual(['b', 'a', 'c']);
    expect(names(arrangement.arrange([c, a, b], 'name', its, DEFAULTS))).toEqual(['a', 'b', 'c']);
    arrangement.hold(false);
    expect(arrange([c, a, b])).toEqual(['a', 'b', 'c']);
  });
});
