import { ServerConnection } from '@jupyterlab/services';
import { AirError, decodePoll, GpuApi } from '../api';
import { Detail } from '../tokens';
import { Answer, fleet, full, GPU0, gpuColumn, hostColumn, next, T0, wire } from './wire';

const settings = ServerConnection.makeSettings({ baseUrl: 'http://host/user/ada/', token: 'secret' });

function answering(body: unknown, status = 200): jest.SpyInstance {
  return jest
    .spyOn(ServerConnection, 'makeRequest')
    .mockImplementation(() =>
      Promise.resolve(new Response(typeof body === 'string' ? body : JSON.stringify(body), { status }))
    );
}

async function rejection(promise: Promise<unknown>): Promise<AirError> {
  const reason: unknown = await promise.then(
    () => null,
    (failed: unknown) => failed
  );
  expect(reason).toBeInstanceOf(AirError);
  return reason as AirError;
}

const NOTHING = { cursor: '', layout: null, details: new Map<string, Detail>() };

describe('decodePoll', () => {
  it('converts steps to percent, bytes, degrees, watts and MHz', () => {
    const poll = full();
    expect(gpuColumn(poll, 0, 'utilization')[2]).toBe(87);
    expect(gpuColumn(poll, 0, 'memory')[2]).toBe(31320 * 2 * 2 ** 20);
    expect(gpuColumn(poll, 0, 'temperature')[5]).toBeCloseTo(59, 4);
    expect(gpuColumn(poll, 0, 'power')[5]).toBe(420);
    expect(gpuColumn(poll, 0, 'clock')[4]).toBe(1740);
    expect(gpuColumn(poll, 0, 'throttle')[3]).toBe(4);
    expect(hostColumn(poll, 'cpu')[2]).toBeCloseTo(38, 4);
    expect(hostColumn(poll, 'memory')[0]).toBe(12800 * 8 * 2 ** 20);
    expect(poll.times[0]).toBe(T0);
  });

  it('reads null as unknown, not as nothing', () => {
    const poll = full();
    expect(gpuColumn(poll, 0, 'utilization')[4]).toBeNaN();
    expect(gpuColumn(poll, 0, 'utilization')[0]).toBe(0);
    expect(gpuColumn(poll, 2, 'temperature').every(Number.isNaN)).toBe(true);
  });

  it('reads the layout, with slices under their GPU', () => {
    const [node] = full().layout.nodes;
    expect(node).toMatchObject({ name: 'dgx-01', local: true, state: 'live', driver: '570.86.15' });
    expect(node.gpus[0]).toMatchObject({ key: GPU0, index: '0', parent: null, powerLimit: 700 });
    expect(node.gpus[2]).toMatchObject({ index: '1:0', parent: node.gpus[1].key, migProfile: '1g.10gb' });
  });

  it('takes the steps of an earlier layout when there is no new one', () => {
    expect(next().layoutChanged).toBe(false);
    expect(gpuColumn(next(), 0, 'memory')[1]).toBe(31340 * 2 * 2 ** 20);
    expect(() => decodePoll(wire('gpu-poll'), null)).toThrow(AirError);
  });

  it('reads a paused monitor and a node without a GPU', () => {
    const paused = decodePoll(wire('gpu-paused'), full().layout);
    expect(paused.monitor).toMatchObject({ state: 'paused', pausesInS: null });
    const none = decodePoll(wire('gpu-no-driver'), null);
    expect(none.layout.nodes[0]).toMatchObject({ state: 'no-driver', gpus: [] });
    expect(none.monitor.pauseAfterS).toBeNull();
  });

  it('reads of a large fleet what was asked for, and each node in brief', () => {
    const answer = fleet();
    expect(gpuColumn(answer, 7, 'memory')).toHaveLength(3);
    expect(answer.columns[1]!.host).toEqual({});
    expect(answer.columns[1]!.gpus.map(gpu => Object.keys(gpu))).toEqual(Array(8).fill(['utilization']));
    expect(gpuColumn(answer, 2, 'utilization', 1)).toEqual(Float32Array.of(82, 87, 86));
    expect(answer.columns[2]).toBeNull();
    expect(answer.briefs![2]).toEqual({
      utilization: 67,
      memoryUsed: 379675108960,
      memoryTotal: 8 * 80 * 2 ** 30,
      temperature: 75,
      power: 2617,
      throttle: 1
    });
    expect(full().briefs).toBeNull();
  });

  it.each([
    ['a column that is too short', (a: Answer) => ((a.columns as { host: number[][] }[])[0].host[0] = [1])],
    ['times that are no numbers', (a: Answer) => (a.times_s = ['soon'])],
    ['a node without columns', (a: Answer) => (a.columns = [])],
    ['a GPU without columns', (a: Answer) => (a.columns as { gpus: unknown[] }[])[0].gpus.pop()],
    ['no monitor', (a: Answer) => delete a.monitor]
  ])('refuses %s', (_, spoil) => {
    const answer = wire('gpu-full');
    spoil(answer);
    expect(() => decodePoll(answer, null)).toThrow(/no usable/);
  });

  it('bounds names that come from other machines', () => {
    const answer = wire('gpu-full');
    const [node] = (answer.layout as { nodes: { name: string; state: string }[] }).nodes;
    node.name = 'x'.repeat(100_000);
    node.state = '<script>';
    const read = decodePoll(answer, null).layout.nodes[0];
    expect(read.name).toHaveLength(200);
    expect(read.state).toBe('error');
  });
});

describe('GpuApi', () => {
  it('asks below the base URL, from the cursor on', async () => {
    const request = answering(wire('gpu-poll'));
    await new GpuApi(settings).poll({
      cursor: 'a b&c',
      layout: full().layout,
      details: new Map()
    });
    expect(request).toHaveBeenCalledWith(
      'http://host/user/ada/jupyter-air/gpu?since=a+b%26c',
      expect.anything(),
      settings
    );
  });

  it('names the nodes that it wants, in which detail, and whether from the beginning', async () => {
    const request = answering(wire('gpu-fleet'));
    const details = new Map<string, Detail>([
      ['gpu-a:9400', 'full'],
      ['b&c', 'strip'],
      ['d', 'strip']
    ]);
    await new GpuApi(settings).poll({ cursor: 'abc', layout: null, details, whole: true });
    expect(request).toHaveBeenCalledWith(
      'http://host/user/ada/jupyter-air/gpu?since=abc&full=gpu-a%3A9400&strip=b%26c&strip=d&whole=1',
      expect.anything(),
      settings
    );
  });

  it('posts activity with the wish to go on', async () => {
    const request = answering('', 200);
    await new GpuApi(settings).activity(true);
    expect(request).toHaveBeenCalledWith(
      'http://host/user/ada/jupyter-air/gpu/activity',
      { method: 'POST', body: '{"keep_while_busy":true}' },
      settings
    );
  });

  it('asks who holds the memory', async () => {
    const request = answering(wire('holders'));
    expect(await new GpuApi(settings).holders()).toEqual(wire('holders'));
    expect(request).toHaveBeenCalledWith('http://host/user/ada/jupyter-air/gpu/holders', {}, settings);
  });

  it('gives our errors their code, message and hint', async () => {
    answering(wire('gpu-error'), 503);
    const error = await rejection(new GpuApi(settings).refresh());
    expect(error).toMatchObject({
      code: 'sampler-stuck',
      message: 'The GPU driver does not answer.',
      hint: 'See dmesg for messages of the NVIDIA driver.',
      status: 503
    });
  });

  it('knows the status of an answer that is not ours', async () => {
    answering('<html>', 404);
    expect(await rejection(new GpuApi(settings).poll(NOTHING))).toMatchObject({
      code: 'http-404',
      status: 404
    });
  });

  it('calls a server that does not answer unreachable', async () => {
    jest.spyOn(ServerConnection, 'makeRequest').mockRejectedValue(new TypeError('Failed to fetch'));
    expect(await rejection(new GpuApi(settings).poll(NOTHING))).toMatchObject({
      code: 'unreachable',
      status: 0
    });
  });

  it('calls a page in place of JSON malformed', async () => {
    answering('<html>');
    expect(await rejection(new GpuApi(settings).poll(NOTHING))).toMatchObject({ code: 'malformed' });
  });
});
