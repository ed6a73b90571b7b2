import { GPU0, GPU1, NODE, SLICE, wire } from '../../__tests__/wire';
import { AirError, IGpuPoll } from '../../api';
import { full, next } from '../../__tests__/wire';
import { Holders } from '../holders';
import { GpuModel } from '../model';

describe('Holders', () => {
  let model: GpuModel;
  let seen: boolean;
  let holders: Holders;
  let poll: () => Promise<IGpuPoll>;
  const ask = jest.fn<Promise<unknown>, []>();
  const settle = (): Promise<void> => jest.advanceTimersByTimeAsync(5);

  beforeEach(async () => {
    jest.useFakeTimers();
    jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    ask.mockReset().mockImplementation(() => Promise.resolve(wire('holders')));
    seen = true;
    poll = () => Promise.resolve(full());
    model = new GpuModel({
      api: { poll: () => poll(), refresh: () => Promise.resolve() },
      hidden: () => false
    });
    holders = new Holders({ api: { holders: ask }, model, isSeen: () => seen });
    model.isActive = true;
    await settle();
    poll = () => Promise.resolve(next());
  });

  afterEach(() => {
    model.dispose();
    jest.useRealTimers();
  });

  it('reads what the server says', async () => {
    holders.watch();
    await settle();
    const first = holders.of(NODE, GPU0)!;
    expect(first.leftOut).toBe(3);
    expect(first.holders).toHaveLength(7);
    expect(first.holders![0]).toEqual({
      kind: 'notebook',
      memory: Math.floor(60.8 * 2 ** 30),
      pids: [4711, 4712, 4713, 4714],
      pidCount: 4,
      kernelId: 'k-train',
      kernelName: 'Python 3 (ipykernel)',
      sessions: [{ type: 'notebook', name: 'train.ipynb', path: 'speech/train.ipynb' }],
      state: 'busy',
      idleSinceS: null,
      terminal: null,
      user: 'ada',
      program: 'python3.12',
      own: true
    });
    expect(holders.of(NODE, GPU1)!.holders).toBeNull();
    expect(holders.of(NODE, SLICE)!.holders).toMatchObject([{ kind: 'host-process', pids: [99123] }]);
    expect(holders.of('another', GPU0)).toBeNull();
  });

  it('asks once when watched, then after each answer of the monitor', async () => {
    expect(ask).not.toHaveBeenCalled();
    const end = holders.watch();
    holders.watch();
    await settle();
    expect(ask).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(9000);
    expect(ask).toHaveBeenCalledTimes(2);
    end();
    await jest.advanceTimersByTimeAsync(11_000);
    expect(ask).toHaveBeenCalledTimes(3);
  });

  it.each([
    ['nobody watches', (end: () => void) => end()],
    ['the pane is not seen', () => (seen = false)],
    ['the page is not seen', () => jest.spyOn(document, 'hidden', 'get').mockReturnValue(true)]
  ])('asks nothing while %s', async (_, change) => {
    const end = holders.watch();
    await settle();
    ask.mockClear();
    change(end);
    await jest.advanceTimersByTimeAsync(30_000);
    expect(ask).not.toHaveBeenCalled();
  });

  it('asks nothing while the server does not answer', async () => {
    holders.watch();
    await settle();
    ask.mockClear();
    poll = () => Promise.reject(new AirError('unreachable', 'gone'));
    await jest.advanceTimersByTimeAsync(30_000);
    expect(model.problem).not.toBeNull();
    expect(ask).not.toHaveBeenCalled();
  });

  it('never asks twice at once', async () => {
    ask.mockImplementation(() => new Promise(() => undefined));
    holders.watch();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('gives the same object until something about it changes', async () => {
    holders.watch();
    await settle();
    const [before, slice] = [holders.of(NODE, GPU0), holders.of(NODE, SLICE)];
    await holders.ask();
    expect(holders.of(NODE, GPU0)).toBe(before);
    const answer = wire('holders');
    (answer.gpus as { holders: { memory_bytes: number }[] }[])[0].holders[0].memory_bytes = 5;
    ask.mockResolvedValue(answer);
    await holders.ask();
    expect(holders.of(NODE, GPU0)!.holders![0].memory).toBe(5);
    expect(holders.of(NODE, SLICE)).toBe(slice);
  });

  it.each([
    ['an error', () => Promise.reject(new AirError('internal', 'x', null, 500))],
    ['nonsense', () => Promise.resolve({ gpus: [{ node: 'local', uuid: GPU0, holders: 'many' }] })]
  ])('forgets what it knew at %s, and asks again', async (_, answer) => {
    holders.watch();
    await settle();
    ask.mockImplementation(answer);
    await jest.advanceTimersByTimeAsync(9000);
    expect(holders.of(NODE, GPU0)).toBeNull();
    ask.mockImplementation(() => Promise.resolve(wire('holders')));
    await jest.advanceTimersByTimeAsync(11_000);
    expect(holders.of(NODE, GPU0)).not.toBeNull();
  });
});
