import { columnOf, NEWEST_FIRST, nextSort, orderBy, SeenNames } from '../columns';
import { decodeRun, IRun } from '../mlflow';
import { Folding, missingParents, rowsOf } from '../tree';

function run(id: string, parent = '', metrics: Record<string, number> = {}): IRun {
  return decodeRun({
    info: { run_id: id, experiment_id: '1', run_name: id, status: 'FINISHED', lifecycle_stage: 'active' },
    data: {
      metrics: Object.entries(metrics).map(([key, value]) => ({ key, value })),
      tags: parent ? [{ key: 'mlflow.parentRunId', value: parent }] : []
    }
  });
}

function shown(order: readonly IRun[], extra: readonly IRun[] = [], folding = new Folding()): string[] {
  const known = new Map([...order, ...extra].map(one => [one.id, one]));
  return rowsOf(order, known, folding).map(row => '-'.repeat(row.level - 1) + row.run.id);
}

describe('the tree of runs', () => {
  it('puts children below their parent, which stands where the first of them does', () => {
    const order = [run('new'), run('b', 'p'), run('other'), run('a', 'p'), run('g', 'a'), run('p')];
    expect(shown(order)).toEqual(['new', 'p', '-b', '-a', '--g', 'other']);
  });

  it('takes a parent that was asked for besides, and shows at the top what has none', () => {
    const order = [run('a', 'p'), run('b', 'gone'), run('c')];
    expect(missingParents(new Map(order.map(one => [one.id, one])))).toEqual(['p', 'gone']);
    expect(shown(order, [run('p')])).toEqual(['p', '-a', 'b', 'c']);
  });

  it('survives what no tree is', () => {
    expect(shown([run('self', 'self')])).toEqual(['self']);
    expect(shown([run('a', 'b'), run('b', 'a')]).sort()).toEqual(['-a', 'b']);
    const deep = Array.from({ length: 60 }, (_, i) => run(`r${i}`, i > 0 ? `r${i - 1}` : ''));
    expect(shown(deep)).toHaveLength(60);
  });

  it('folds what is long, and keeps what a person decided', () => {
    const family = (count: number): IRun[] => [
      run('p'),
      ...Array.from({ length: count }, (_, i) => run(`c${i}`, 'p'))
    ];
    const folding = new Folding();
    expect(shown(family(3), [], folding)).toHaveLength(4);
    // It was open when it was small: it stays so.
    expect(shown(family(30), [], folding)).toHaveLength(31);
    expect(shown(family(30))).toEqual(['p']);
    folding.set('p', false);
    expect(shown(family(30), [], folding)).toEqual(['p']);
    const searching = new Folding();
    searching.unfoldsAll = true;
    expect(shown(family(30), [], searching)).toHaveLength(31);
  });
});

describe('columns', () => {
  it('are the own metrics that most runs have, telling ones first', () => {
    const seen = new SeenNames();
    seen.add([
      run('a', '', { epoch: 1, loss: 1, 'system/gpu': 1 }),
      run('b', '', { epoch: 1, loss: 1, rare: 1 })
    ]);
    expect(seen.defaults.map(({ key }) => key)).toEqual(['loss', 'epoch']);
    expect(seen.columns.map(({ key }) => key)).toEqual(['epoch', 'loss', 'rare', 'system/gpu']);
    seen.meet(run('a', '', { late: 1 }));
    expect(seen.metrics.get('late')).toBe(1);
    expect(seen.metrics.get('loss')).toBe(2);
  });

  it('are sorted the best first, then the other way, then by age again', () => {
    const loss = { kind: 'metric', key: 'eval/loss' } as const;
    const first = nextSort(NEWEST_FIRST, loss);
    expect(orderBy(first)).toEqual(['metrics.`eval/loss` ASC', 'attributes.start_time DESC']);
    const second = nextSort(first, loss);
    expect(second.descending).toBe(true);
    expect(nextSort(second, loss)).toBe(NEWEST_FIRST);
    expect(nextSort(NEWEST_FIRST, { kind: 'metric', key: 'accuracy' }).descending).toBe(true);
    expect(orderBy(nextSort(NEWEST_FIRST, 'start'))).toEqual(['attributes.start_time ASC']);
    expect(columnOf('params.lr')).toEqual({ kind: 'param', key: 'lr' });
    expect([columnOf('metrics.'), columnOf('x')]).toEqual([null, null]);
  });
});
