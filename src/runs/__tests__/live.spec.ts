import { AirError } from '../../api';
import { INews, LiveRuns } from '../live';
import { decodeRun, IRun, IRunsQuestion, MlflowApi } from '../mlflow';

const REST = '/jupyter-air/mlflow/';

function run(id: string, status: string, loss = 1): IRun {
  return decodeRun({
    info: { run_id: id, experiment_id: '7', run_name: id, status, start_time: 1, lifecycle_stage: 'active' },
    data: { metrics: [{ key: 'loss', value: loss }] }
  });
}

describe('LiveRuns', () => {
  const one = jest.fn<Promise<IRun>, [string]>();
  const many = jest.fn<Promise<IRun[]>, [IRunsQuestion]>();
  let live: LiveRuns;
  let news: INews[];

  const later = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms).then(() => undefined);

  beforeEach(() => {
    jest.useFakeTimers();
    one.mockReset();
    many.mockReset();
    const api = {
      run: one,
      runs: async (question: IRunsQuestion) => ({ items: await many(question), nextPageToken: null })
    };
    live = new LiveRuns(() => api as unknown as MlflowApi);
    news = [];
    live.news.connect((_, heard) => news.push(heard));
  });

  afterEach(() => {
    live.dispose();
    jest.useRealTimers();
  });

  it('takes no answer for news that was on its way when something newer was heard', async () => {
    let answer: (runs: IRun[]) => void = () => undefined;
    one.mockResolvedValueOnce(run('a', 'RUNNING')).mockResolvedValue(run('a', 'FINISHED'));
    many.mockImplementation(() => new Promise(done => (answer = done)));
    live.watch(REST, 'a');
    await later(2500);
    live.again(REST, 'a');
    answer([run('a', 'RUNNING', 7)]);
    await later(5000);
    expect(news.map(({ run }) => run?.status)).toEqual(['RUNNING', 'FINISHED']);
    live.again(REST, 'nobody looks');
    await later(60_000);
    expect(one).toHaveBeenCalledTimes(2);
  });

  it('asks at once, then for all open runs together, and no more once they ended', async () => {
    one.mockImplementation(id => Promise.resolve(run(id, 'RUNNING')));
    many.mockImplementation(() => Promise.resolve([run('a', 'RUNNING', 0.5), run('b', 'FINISHED')]));
    live.watch(REST, 'a');
    live.watch(REST, 'b');
    await later(5);
    expect(one.mock.calls.map(([id]) => id).sort()).toEqual(['a', 'b']);
    await later(2500);
    expect(many).toHaveBeenCalledTimes(1);
    expect(many.mock.calls[0][0]).toMatchObject({
      experimentIds: ['7'],
      filter: "attributes.run_id IN ('a', 'b')",
      view: 'ALL'
    });
    expect(live.known(REST, 'a')?.metrics.get('loss')).toBe(0.5);
    expect(news.at(-1)?.run?.status).toBe('FINISHED');
    many.mockImplementation(() => Promise.resolve([run('a', 'KILLED')]));
    await later(2000);
    expect(many.mock.calls[1][0].filter).toBe("attributes.run_id IN ('a')");
    await later(60_000);
    expect(many).toHaveBeenCalledTimes(2);
  });

  it('asks for no run that nobody sees any more', async () => {
    one.mockImplementation(id => Promise.resolve(run(id, 'RUNNING')));
    const first = live.watch(REST, 'a');
    const second = live.watch(REST, 'a');
    await later(5);
    first.dispose();
    many.mockImplementation(() => Promise.resolve([run('a', 'RUNNING')]));
    await later(2500);
    expect(many).toHaveBeenCalledTimes(1);
    second.dispose();
    expect(live.known(REST, 'a')).toBeUndefined();
    await later(60_000);
    expect(many).toHaveBeenCalledTimes(1);
  });

  it('remembers that MLflow does not have a run', async () => {
    one.mockRejectedValue(new AirError('RESOURCE_DOES_NOT_EXIST', 'no such run', null, 404));
    live.watch(REST, 'gone');
    await later(60_000);
    expect(one).toHaveBeenCalledTimes(1);
    expect(live.known(REST, 'gone')).toBeNull();
    expect(live.problem(REST)).toBeNull();
  });

  it('says that MLflow does not answer, asks less often, and is there again', async () => {
    const problems: (string | undefined)[] = [];
    live.problemChanged.connect((_, rest) => problems.push(live.problem(rest)?.message));
    one.mockRejectedValue(new AirError('unreachable', 'no answer'));
    live.watch(REST, 'a');
    await later(60_000);
    expect(one.mock.calls.length).toBeGreaterThan(1);
    expect(one.mock.calls.length).toBeLessThan(15);
    expect(problems).toEqual(['no answer']);
    one.mockImplementation(id => Promise.resolve(run(id, 'FINISHED')));
    await later(60_000);
    expect(problems).toEqual(['no answer', undefined]);
    expect(live.known(REST, 'a')?.status).toBe('FINISHED');
  });

  it('passes on what one was told to all others', async () => {
    one.mockImplementation(id => Promise.resolve(run(id, 'RUNNING')));
    live.watch(REST, 'a');
    await later(5);
    live.tell(REST, [run('a', 'FINISHED'), run('z', 'FAILED')]);
    expect(news.slice(-2).map(heard => heard.id)).toEqual(['a', 'z']);
    expect(live.known(REST, 'a')?.status).toBe('FINISHED');
    expect(live.known(REST, 'z')).toBeUndefined();
  });
});
