import { Answer, wire } from '../../__tests__/wire';
import { AirError } from '../../api';
import { CardModel, ICard } from '../card';
import { ILead } from '../lead';
import { LiveRuns } from '../live';
import { decodeRun, IRun, MlflowApi } from '../mlflow';
import { decodeRecord, IRunRecord } from '../record';

const REST = '/jupyter-air/mlflow/';
const ID = '0af7651916cd43dd8448eb211c80319c';
const SEEN_MS = 1_796_000_724_000;

const saved = (change: Answer = {}): IRunRecord => decodeRecord({ ...wire('run-card'), ...change });
const ended = (): IRunRecord => saved({ status: 'FINISHED', ended_ms: SEEN_MS });

function run(status: string, loss: number, more: Answer = {}, tags: Answer[] = []): IRun {
  const info = {
    run_id: ID,
    experiment_id: '7',
    run_name: 'baseline',
    status,
    start_time: 1_796_000_000_000
  };
  return decodeRun({
    info: { ...info, lifecycle_stage: 'active', ...more },
    data: { metrics: [{ key: 'train_loss', value: loss, step: 1 }], tags }
  });
}

describe('a card', () => {
  const one = jest.fn<Promise<IRun>, [string]>();
  const many = jest.fn<Promise<IRun[]>, []>();
  const lead = jest.fn<Promise<ILead>, [IRunRecord]>();
  let live: LiveRuns;
  let model: CardModel;

  const later = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms).then(() => undefined);
  const card = (): ICard => model.card!;

  async function show(record: IRunRecord): Promise<void> {
    model.tell(record);
    model.isShown = true;
    await later(5);
  }

  beforeEach(() => {
    jest.useFakeTimers({ now: SEEN_MS + 24 * 3600 * 1000 });
    one.mockReset();
    many.mockReset();
    lead.mockReset().mockResolvedValue({ rest: REST, isUp: true, page: '/page' });
    const api = { run: one, runs: async () => ({ items: await many(), nextPageToken: null }) };
    live = new LiveRuns(() => api as unknown as MlflowApi);
    model = new CardModel({ live, lead });
  });

  afterEach(() => {
    model.dispose();
    live.dispose();
    jest.useRealTimers();
  });

  it('shows what the notebook kept, then what MLflow says, until the run has ended', async () => {
    one.mockResolvedValue(run('RUNNING', 2));
    model.tell(saved());
    expect(card()).toMatchObject({ status: 'RUNNING', isTicking: false, asOfMs: SEEN_MS, page: null });
    expect(card().metrics.get('eval_acc')).toBe(0.713);
    await later(60_000);
    expect(one).not.toHaveBeenCalled();
    await show(saved());
    expect(card()).toMatchObject({ isTicking: true, asOfMs: null, page: '/page' });
    expect([...card().metrics]).toEqual([['train_loss', 2]]);
    const reason = { key: 'jupyter_air.end_reason', value: 'The kernel died.' };
    many.mockResolvedValue([run('KILLED', 1, { end_time: SEEN_MS }, [reason])]);
    await later(2500);
    expect(card()).toMatchObject({
      status: 'KILLED',
      endReason: 'The kernel died.',
      endMs: SEEN_MS,
      isTicking: false
    });
    const asked = many.mock.calls.length;
    model.isShown = false;
    model.isShown = true;
    await later(60_000);
    expect([many.mock.calls.length, one.mock.calls.length]).toEqual([asked, 1]);
  });

  it('asks only while somebody looks', async () => {
    one.mockResolvedValue(run('RUNNING', 2));
    many.mockResolvedValue([run('RUNNING', 1)]);
    await show(saved());
    model.isShown = false;
    await later(60_000);
    expect(many).not.toHaveBeenCalled();
    model.isShown = true;
    await later(5);
    expect(one).toHaveBeenCalledTimes(2);
  });

  it('takes what a kernel says now before what MLflow said', async () => {
    one.mockResolvedValue(run('RUNNING', 2));
    await show(saved());
    one.mockRejectedValue(new AirError('unreachable', 'gone'));
    model.tell(saved({ status: 'FINISHED', ended_ms: SEEN_MS, metrics: { train_loss: 0.5 } }));
    await later(5);
    expect(card()).toMatchObject({ status: 'FINISHED', endMs: SEEN_MS, asOfMs: null, isTicking: false });
    expect(card().metrics.get('train_loss')).toBe(0.5);
    one.mockResolvedValue(run('FINISHED', 0.25, { end_time: SEEN_MS }));
    await later(40_000);
    expect(card().metrics.get('train_loss')).toBe(0.25);
  });

  it('starts no MLflow for a run that has ended', async () => {
    lead.mockResolvedValue({ rest: REST, isUp: false, page: '/page' });
    await show(ended());
    expect(one).not.toHaveBeenCalled();
    expect(card()).toMatchObject({ status: 'FINISHED', asOfMs: null, page: '/page' });
  });

  it('says as of when, where MLflow does not answer, and goes on once it does', async () => {
    one.mockResolvedValue(run('RUNNING', 2));
    await show(saved());
    const heardMs = Date.now();
    many.mockRejectedValue(new AirError('unreachable', 'gone'));
    await later(10_000);
    expect(card()).toMatchObject({ status: 'RUNNING', isTicking: false });
    expect(Math.abs(card().asOfMs! - heardMs)).toBeLessThan(1000);
    many.mockResolvedValue([run('RUNNING', 1)]);
    await later(60_000);
    expect(card()).toMatchObject({ isTicking: true, asOfMs: null });
  });

  it('ticks for a run that its kernel has just begun, while MLflow is being started', async () => {
    one.mockReturnValue(new Promise(() => undefined));
    await show(saved({ seen_ms: Date.now() }));
    expect(card()).toMatchObject({ isTicking: true, asOfMs: null });
    lead.mockResolvedValue({ rest: null, isUp: false, page: null });
    const other = new CardModel({ live, lead });
    other.tell(saved({ seen_ms: Date.now() }));
    other.isShown = true;
    await later(5);
    expect(other.card).toMatchObject({ isTicking: false, asOfMs: saved({ seen_ms: Date.now() - 5 }).seenMs });
    other.dispose();
  });

  it('says that a run is deleted, or not there', async () => {
    one.mockResolvedValue(run('FINISHED', 1, { lifecycle_stage: 'deleted', end_time: SEEN_MS }));
    await show(ended());
    expect(card()).toMatchObject({ gone: 'deleted', page: '/page' });
    one.mockRejectedValue(new AirError('RESOURCE_DOES_NOT_EXIST', 'no'));
    const lost = new CardModel({ live, lead });
    lost.tell(saved({ run_id: 'lost' }));
    lost.isShown = true;
    await later(5);
    expect(lost.card).toMatchObject({ gone: 'missing', isTicking: false, asOfMs: SEEN_MS, page: null });
    lost.dispose();
    live.tell(REST, [run('FINISHED', 1, { end_time: SEEN_MS })]);
    expect(card().gone).toBeNull();
  });

  it('knows at once what another card knows', async () => {
    one.mockResolvedValue(run('FINISHED', 1, { end_time: SEEN_MS }));
    await show(ended());
    const second = new CardModel({ live, lead });
    second.tell(saved());
    second.isShown = true;
    await later(5);
    expect(second.card?.status).toBe('FINISHED');
    expect(one).toHaveBeenCalledTimes(1);
    second.dispose();
  });
});
