import { AirError } from '../../api';
import type { INotebookPlace, IRunsContext } from '../context';
import { ExperimentModel } from '../experiment';
import { LiveRuns } from '../live';
import { decodeRun, IExperiment, IRun, IRunsQuestion, MlflowApi } from '../mlflow';
import { PAGE } from '../runList';

const REST = '/jupyter-air/mlflow/';
const OWN: IExperiment = { id: '1', name: '/Users/ada/tune', deleted: false };
const OTHER: IExperiment = { id: '2', name: 'speech', deleted: false };

/** An MLflow of a few lines: newest first, pages, deleted runs; filters by ids, parent and notebook. */
class Store {
  runs: IRun[] = [];
  own: IExperiment | null = OWN;
  asked: IRunsQuestion[] = [];
  fail: AirError | null = null;
  answersAfterMs = 0;

  add(id: string, wire: Record<string, unknown> = {}, tags: Record<string, string> = {}): IRun {
    const run = decodeRun({
      info: {
        run_id: id,
        experiment_id: '1',
        run_name: id,
        status: 'FINISHED',
        start_time: this.runs.length + 1,
        lifecycle_stage: 'active',
        ...wire
      },
      data: { tags: Object.entries(tags).map(([key, value]) => ({ key, value })) }
    });
    this.runs = [run, ...this.runs.filter(one => one.id !== id)];
    return run;
  }

  readonly api = {
    rest: REST,
    run: (id: string) => Promise.resolve(this.runs.find(run => run.id === id)),
    experimentByName: () => this._answer(this.own),
    experiments: () => this._answer({ items: [OWN, OTHER], nextPageToken: null }),
    runs: async (question: IRunsQuestion) => {
      this.asked.push(question);
      await this._answer(null);
      const { filter = '', view, experimentIds, limit, pageToken } = question;
      const ids = /run_id IN \((.*)\)/.exec(filter)?.[1];
      const tag = /tags\.`([^`]+)` = '([^']*)'/.exec(filter);
      const found = this.runs.filter(
        run =>
          experimentIds.includes(run.experimentId) &&
          (view === 'ALL' || run.deleted === (view === 'DELETED_ONLY')) &&
          (!ids || ids.includes(`'${run.id}'`)) &&
          (!tag || run.tags.get(tag[1]) === tag[2])
      );
      const from = Number(pageToken ?? '') || 0;
      const next = from + limit;
      return { items: found.slice(from, next), nextPageToken: next < found.length ? String(next) : null };
    }
  } as unknown as MlflowApi;

  private async _answer<T>(value: T): Promise<T> {
    if (this.answersAfterMs > 0) {
      await new Promise(done => setTimeout(done, this.answersAfterMs));
    }
    if (this.fail) {
      throw this.fail;
    }
    return value;
  }
}

describe('ExperimentModel', () => {
  let store: Store;
  let live: LiveRuns;
  let model: ExperimentModel;
  const contexts = jest.fn<Promise<IRunsContext>, [INotebookPlace]>();
  const context: IRunsContext = {
    notebook: '/home/ada/tune.ipynb',
    experiment: OWN.name,
    kind: 'server',
    trackingUri: null,
    rest: REST,
    pages: REST,
    message: ''
  };

  const settle = (ms = 20): Promise<void> => jest.advanceTimersByTimeAsync(ms).then(() => undefined);
  const ids = (): string[] => (model.list?.order ?? []).map(run => run.id);
  const pages = (): number => store.asked.filter(({ limit }) => limit === PAGE).length;

  beforeEach(() => {
    jest.useFakeTimers();
    store = new Store();
    contexts.mockReset();
    contexts.mockImplementation(() => Promise.resolve(context));
    live = new LiveRuns(() => store.api);
    model = new ExperimentModel({
      context: { of: contexts },
      live,
      mlflow: () => store.api,
      tracking: () => null
    });
    model.show({ kernelId: null, path: 'tune.ipynb' });
  });

  afterEach(() => {
    model.dispose();
    live.dispose();
    jest.useRealTimers();
  });

  it('asks for nothing while nobody looks, and goes on where somebody does', async () => {
    store.add('a');
    await settle(60_000);
    expect([contexts.mock.calls.length, store.asked.length]).toEqual([0, 0]);
    model.isActive = true;
    await settle();
    expect([ids(), pages()]).toEqual([['a'], 1]);
    const order = model.list?.order;
    await settle(10_100);
    expect(model.list?.order).toBe(order);
    store.add('b');
    await settle(10_100);
    expect(ids()).toEqual(['b', 'a']);
    model.isActive = false;
    const before = store.asked.length;
    await settle(60_000);
    expect(store.asked).toHaveLength(before);
  });

  it('reads page after page, and loses and doubles none when runs come and go', async () => {
    for (let i = 0; i < 2 * PAGE + 50; i++) {
      store.add(`r${i}`);
    }
    model.isActive = true;
    await settle();
    expect([ids().length, model.list?.hasMore, model.total]).toEqual([PAGE, true, null]);
    await model.list?.more();
    store.add('new');
    store.runs = store.runs.filter(run => run.id !== 'r200' && run.id !== 'r210');
    void model.refresh();
    await settle();
    expect(ids().slice(0, 2)).toEqual(['new', 'r249']);
    expect(ids()).not.toContain('r200');
    while (model.list?.hasMore) {
      await model.list.more();
    }
    expect(new Set(ids()).size).toBe(ids().length);
    expect(ids().sort()).toEqual(store.runs.map(run => run.id).sort());
  });

  it('asks for the parents that a page lacks, and for children when they are wanted', async () => {
    store.add('p');
    for (let i = 0; i < PAGE + 10; i++) {
      store.add(`r${i}`, {}, i % 50 === 5 ? { 'mlflow.parentRunId': 'p' } : { 'mlflow.parentRunId': 'gone' });
    }
    model.isActive = true;
    await settle();
    expect(model.list?.known.get('p')?.id).toBe('p');
    expect(ids()).not.toContain('p');
    // What is gone is asked for once.
    void model.refresh();
    await settle();
    expect(store.asked.filter(({ filter }) => filter?.includes("'gone'"))).toHaveLength(1);
    expect(ids()).not.toContain('r5');
    await model.list?.children('p');
    expect(ids()).toContain('r5');
  });

  it('keeps the list when a filter is refused, and takes the last of several questions', async () => {
    store.add('a');
    model.isActive = true;
    await settle();
    store.fail = new AirError('INVALID_PARAMETER_VALUE', 'Invalid clause(s)', null, 400);
    model.search('metrics.loss <');
    await settle();
    // What is read at each change is the same until it changes.
    expect(model.defaultColumns).toBe(model.defaultColumns);
    expect([model.refused?.message, model.problem, ids()]).toEqual(['Invalid clause(s)', null, ['a']]);
    store.fail = null;
    model.search("tags.`k` = 'x'");
    model.search("tags.`k` = 'y'");
    store.add('b', {}, { k: 'y' });
    await settle();
    expect([model.refused, ids(), model.list?.question.filter]).toEqual([null, ['b'], "tags.`k` = 'y'"]);
    expect(model.total).toBe(1);
  });

  it('says what is wrong, keeps what was known, and asks again ever more seldom', async () => {
    store.add('a');
    model.isActive = true;
    await settle();
    const heard = model.heardMs;
    store.fail = new AirError('unreachable', 'connection refused');
    await settle(10_100);
    expect([model.problem?.code, ids(), model.heardMs]).toEqual(['unreachable', ['a'], heard]);
    store.fail = null;
    await settle(120_000);
    expect(model.problem).toBeNull();
    store.fail = new AirError('http-502', 'bad gateway', null, 502);
    await model.list?.more();
    expect(model.list?.moreProblem).toBeNull();
  });

  it('says that MLflow takes its time, and shows what was known until it has answered', async () => {
    store.add('a');
    model.isActive = true;
    await settle();
    store.add('b');
    store.answersAfterMs = 3000;
    void model.refresh();
    await settle(500);
    expect([model.isSlow, model.isAsking]).toEqual([false, true]);
    await settle(1000);
    expect([model.isSlow, ids()]).toEqual([true, ['a']]);
    await settle(10_000);
    expect([model.isSlow, model.isAsking, ids()]).toEqual([false, false, ['b', 'a']]);
  });

  it('follows the notebook, its kernel, and where its runs went', async () => {
    store.own = null;
    store.add('elsewhere', { experiment_id: '2' }, { 'jupyter_air.notebook': context.notebook! });
    store.add('renamed', { experiment_id: '2' }, { 'jupyter_air.kernel_id': 'k' });
    contexts.mockImplementation(({ kernelId }) =>
      kernelId === 'dead'
        ? Promise.reject(new AirError('missing', 'no kernel', null, 404))
        : Promise.resolve(context)
    );
    model.show({ kernelId: 'dead', path: 'tune.ipynb' });
    model.isActive = true;
    await settle();
    expect(model.experiment).toBe(OTHER);
    expect(contexts.mock.calls.at(-1)).toEqual([{ kernelId: null, path: 'tune.ipynb' }]);
    // A kernel that is not there yet is asked for again.
    const asked = contexts.mock.calls.length;
    await settle(10_100);
    expect(contexts.mock.calls.slice(asked)).toContainEqual([{ kernelId: 'dead', path: 'tune.ipynb' }]);
    store.own = OWN;
    store.add('first');
    model.show({ kernelId: 'k', path: 'tune.ipynb' });
    await settle();
    expect([model.experiment, ids()]).toEqual([OWN, ['first']]);
    expect(model.where.experiments).toEqual({ own: OWN, others: [OTHER] });
    model.choose(OTHER);
    await settle();
    expect(ids()).toEqual(['renamed', 'elsewhere']);
    model.show(null);
    await settle();
    expect([model.experiment, model.list]).toEqual([null, null]);
    contexts.mockResolvedValue({ ...context, rest: null, message: 'Not here.' });
    model.show({ kernelId: null, path: 'other.ipynb' });
    await settle();
    expect([model.where.api, model.where.context?.message]).toEqual([null, 'Not here.']);
  });

  it('hears at once of runs that others tell of, and follows those in view', async () => {
    store.add('a', { status: 'RUNNING' });
    model.isActive = true;
    await settle();
    const asked = pages();
    const begun = store.add('b');
    live.tell(REST, [begun]);
    await settle();
    expect(ids()).toEqual(['b', 'a']);
    live.tell(REST, [begun]);
    await settle();
    expect(pages()).toBe(asked + 1);
    model.cellRan('another.ipynb', false);
    await settle();
    expect(pages()).toBe(asked + 1);
    store.add('c');
    model.cellRan('tune.ipynb', false);
    await settle();
    expect(ids()).toEqual(['c', 'b', 'a']);
    model.look(model.list?.order ?? []);
    store.add('a', { status: 'KILLED' });
    await settle(2100);
    expect(model.list?.known.get('a')?.status).toBe('KILLED');
    // What somebody deleted is gone from here, too.
    live.tell(REST, [store.add('a', { lifecycle_stage: 'deleted' })]);
    expect(ids()).toEqual(['c', 'b']);
  });
});
