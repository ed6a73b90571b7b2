import { fleet, full, GPU0, next, NODE, T0 } from '../../__tests__/wire';
import { AirError, IGpuPoll, IGpuQuestion } from '../../api';
import { GpuModel } from '../model';

const HOUR = 3600_000;

describe('GpuModel', () => {
  let model: GpuModel;
  let hidden: boolean;
  const poll = jest.fn<Promise<IGpuPoll>, [IGpuQuestion]>();
  const refresh = jest.fn<Promise<void>, []>();

  beforeEach(() => {
    jest.useFakeTimers({ now: 1_700_000_000_000 });
    hidden = false;
    poll.mockReset().mockImplementation(({ cursor }) => Promise.resolve(cursor ? next() : full()));
    refresh.mockReset().mockResolvedValue(undefined);
    model = new GpuModel({ api: { poll, refresh }, hidden: () => hidden });
  });

  afterEach(() => {
    model.dispose();
    jest.useRealTimers();
  });

  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

  async function look(): Promise<void> {
    model.isActive = true;
    await pass(1);
  }

  it('asks nothing until somebody looks, nor after', async () => {
    await pass(HOUR);
    expect(poll).not.toHaveBeenCalled();
    await look();
    expect(poll).toHaveBeenCalledTimes(1);
    model.isActive = false;
    await pass(HOUR);
    expect(poll).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('asks nothing in a hidden page, and at once when it can be seen again', async () => {
    await look();
    hidden = true;
    await pass(HOUR);
    expect(poll).toHaveBeenCalledTimes(1);
    model.wake();
    await pass(1);
    expect(poll).toHaveBeenCalledTimes(1);
    hidden = false;
    model.wake();
    await pass(1);
    expect(poll).toHaveBeenCalledTimes(2);
  });

  it('asks soon after the next sample is due', async () => {
    await look();
    // The newest sample is 2.4 s old, the interval 10 s: 7.6 s, and a little more.
    await pass(7600);
    expect(poll).toHaveBeenCalledTimes(1);
    await pass(1000);
    expect(poll).toHaveBeenCalledTimes(2);
  });

  it('keeps the interval while paused', async () => {
    poll.mockResolvedValue({ ...full(), monitor: { ...full().monitor, state: 'paused' } });
    await look();
    await pass(9990);
    expect(poll).toHaveBeenCalledTimes(1);
    await pass(20);
    expect(poll).toHaveBeenCalledTimes(2);
  });

  it('gives the cursor and the layout back', async () => {
    await look();
    await pass(9000);
    expect(poll.mock.calls[0]).toEqual([{ cursor: '', layout: null, details: new Map() }]);
    expect(poll.mock.calls[1][0].cursor).toBe('3fa91c.1.10');
    expect(poll.mock.calls[1][0].layout?.nodes[0].name).toBe('dgx-01');
    expect(model.series.last(NODE, GPU0, 'power')).toBe(419);
  });

  it('says what changed: readings always, the state only when it differs', async () => {
    const state = jest.fn();
    const data = jest.fn();
    model.stateChanged.connect(state);
    model.dataChanged.connect(data);
    await look();
    expect([state.mock.calls.length, data.mock.calls.length]).toEqual([1, 1]);
    const { nodes } = model;
    await pass(9000);
    expect([state.mock.calls.length, data.mock.calls.length]).toEqual([1, 2]);
    expect(model.nodes).toBe(nodes);
    poll.mockResolvedValue({ ...next(), monitor: { ...next().monitor, state: 'paused' } });
    await pass(11_000);
    expect([state.mock.calls.length, data.mock.calls.length]).toEqual([2, 3]);
  });

  it('counts ages on the server’s clock', async () => {
    await look();
    expect(model.timeS).toBe(T0 + 682.4);
    expect(model.clockOffsetS).toBeCloseTo(T0 + 682.4 - 1_700_000_000, 1);
    await pass(3000);
    expect(model.ageS(NODE)).toBeCloseTo(5.4, 1);
    expect(model.pausesInS).toBeCloseTo(281.5, 1);
    expect(model.serverNowS).toBeCloseTo(T0 + 685.4, 1);
    expect(model.ageS('nobody')).toBeNull();
  });

  it('backs off from a server that is gone, up to a minute, and keeps what it knew', async () => {
    await look();
    const times: number[] = [];
    poll.mockImplementation(() => {
      times.push(Date.now());
      return Promise.reject(new AirError('unreachable', 'Failed to fetch'));
    });
    await pass(HOUR);
    const waits = times.slice(1).map((time, i) => time - times[i]);
    expect(waits.length).toBeGreaterThan(50);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(10_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(60_001);
    expect(Math.max(...waits)).toBeGreaterThan(30_000);
    expect(model.problem?.code).toBe('unreachable');
    expect(model.series.last(NODE, GPU0, 'power')).toBe(412);
  });

  it('tells a failure once, and its end', async () => {
    await look();
    const state = jest.fn();
    model.stateChanged.connect(state);
    poll.mockRejectedValue(new AirError('unreachable', 'Failed to fetch'));
    await pass(600_000);
    expect(state).toHaveBeenCalledTimes(1);
    poll.mockResolvedValue(next());
    await pass(61_000);
    expect(state).toHaveBeenCalledTimes(2);
    expect(model.problem).toBeNull();
  });

  it('starts over when an answer makes no sense', async () => {
    await look();
    poll.mockRejectedValueOnce(new AirError('malformed', 'The server’s answer has no usable times.'));
    await pass(9000);
    poll.mockClear();
    await pass(60_000);
    expect(poll.mock.calls[0][0].cursor).toBe('');
  });

  it('refresh takes a sample first, and then asks, even when a question is on its way', async () => {
    const order: string[] = [];
    let answer = (): void => undefined;
    poll.mockImplementation(() => {
      order.push('poll');
      return new Promise(resolve => {
        answer = () => resolve(full());
      });
    });
    refresh.mockImplementation(() => {
      order.push('refresh');
      return Promise.resolve();
    });
    model.isActive = true;
    await pass(1);
    void model.refresh();
    void model.refresh();
    expect(model.isRefreshing).toBe(true);
    await pass(1);
    expect(order).toEqual(['poll', 'refresh', 'poll']);
    answer();
    await pass(1);
    expect(model.isRefreshing).toBe(false);
  });

  it('leaves an answer alone that a later question has overtaken', async () => {
    const answers: ((answer: IGpuPoll) => void)[] = [];
    poll.mockImplementation(() => new Promise(resolve => answers.push(resolve)));
    model.isActive = true;
    await pass(1);
    void model.refresh();
    await pass(1);
    answers[1]({ ...full(), cursor: 'new' });
    await pass(1);
    answers[0]({ ...full(), cursor: 'old', timeS: 0 });
    await pass(1);
    expect(model.timeS).toBe(T0 + 682.4);
  });

  it('shows why a refresh failed', async () => {
    await look();
    refresh.mockRejectedValue(new AirError('sampler-stuck', 'The GPU driver does not answer.', null, 503));
    poll.mockImplementation(() => new Promise(() => undefined));
    void model.refresh();
    await pass(1);
    expect(model.problem?.message).toBe('The GPU driver does not answer.');
  });

  it('takes a sample for somebody who does not look, and asks nothing', async () => {
    await model.refresh();
    await pass(HOUR);
    expect(refresh).toHaveBeenCalledTimes(1);
    expect(poll).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ends with its timers', async () => {
    await look();
    model.dispose();
    await pass(HOUR);
    expect(poll).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  describe('of a large fleet', () => {
    const FIRST = 'simulated-01';
    const SECOND = 'simulated-02';

    /** Answers as the server does: columns of those that are named, in the detail that is asked for. */
    function serve({ cursor, details, layout, whole }: IGpuQuestion): Promise<IGpuPoll> {
      const all = fleet();
      const known = cursor !== '' && layout !== null;
      const count = known && !whole ? 1 : all.times.length;
      const columns = all.layout.nodes.map((node, n) =>
        details.has(node.id) ? shortened(all.columns[n]!, count) : null
      );
      const times = all.times.slice(-count);
      const replaceFromS = known ? times[0] : 0;
      return Promise.resolve({ ...all, layoutChanged: !known, columns, times, replaceFromS });
    }

    type Columns = NonNullable<IGpuPoll['columns'][number]>;
    const shortened = ({ host, gpus }: Columns, count: number): Columns => ({
      host: cut(host, count),
      gpus: gpus.map(gpu => cut(gpu, count))
    });
    const cut = <T extends object>(columns: T, count: number): T =>
      Object.fromEntries(
        Object.entries(columns).map(([name, column]) => [name, (column as Float32Array).slice(-count)])
      ) as T;

    const asked = (): (string | boolean)[][] =>
      poll.mock.calls.map(([{ details, whole = false }]) => [...details.keys(), whole]);

    const utilization = (node: string): (number | null)[] => {
      const gpu = fleet().layout.nodes.find(one => one.id === node)!.gpus[0].key;
      return model.series.points(node, gpu, 'utilization', 0).values;
    };

    beforeEach(() => {
      poll.mockImplementation(serve);
    });

    it('asks for nothing but briefs until somebody looks at a node', async () => {
      await look();
      await pass(10_500);
      expect(asked()).toEqual([[false], [false]]);
      const [first] = model.nodes;
      expect(model.isLarge).toBe(true);
      expect(model.brief(first)?.power).toBe(2245);
      expect(model.series.last(FIRST, first.gpus[0].key, 'utilization')).toBeNull();
    });

    it('fetches the past of a node that comes into view once, and then what is new of it', async () => {
      await look();
      model.look(FIRST, 'full');
      await pass(200);
      expect(asked().slice(1)).toEqual([[false], [FIRST, true]]);
      expect(utilization(FIRST)).toEqual([91, 89, 93]);
      await pass(10_500);
      expect(asked().slice(3)).toEqual([[FIRST, false]]);
      expect(utilization(FIRST)).toEqual([91, 89, 93]);
    });

    it('waits until the scrolling rests', async () => {
      await look();
      model.look(FIRST, 'full');
      await pass(50);
      model.look(FIRST, null);
      model.look(SECOND, 'strip');
      await pass(200);
      expect(asked().slice(1)).toEqual([[false], [SECOND, true]]);
      model.look(SECOND, null);
      await pass(10_500);
      expect(asked().slice(3)).toEqual([[SECOND, false]]);
    });

    it('starts over with those it follows when the layout is another', async () => {
      await look();
      model.look(FIRST, 'full');
      await pass(200);
      poll.mockClear();
      poll.mockImplementation(question => serve({ ...question, cursor: '' }));
      await pass(10_500);
      expect(asked()).toEqual([[FIRST, false]]);
      expect(utilization(FIRST)).toEqual([91, 89, 93]);
    });

    it('lets all of it go when the fleet becomes small', async () => {
      await look();
      model.look(FIRST, 'full');
      await pass(200);
      poll.mockResolvedValue(full());
      await pass(10_500);
      expect(model.isLarge).toBe(false);
      expect(model.brief(model.nodes[0])?.utilization).toBe(87);
      expect(model.series.last(NODE, GPU0, 'power')).toBe(412);
    });
  });
});
