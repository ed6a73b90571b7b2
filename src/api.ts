/** The REST client. Wire integers become percent, bytes, degrees C, watts and MHz here, once. */
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import {
  Detail,
  GPU_METRICS,
  GpuMetric,
  GpuState,
  HOST_METRICS,
  HostMetric,
  IBrief,
  IGpu,
  IHost,
  ILayout,
  IMonitor,
  INode,
  NodeState
} from './tokens';

/** What the server, or the way to it, answered in place of a result. */
export class AirError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly hint: string | null = null,
    /** The HTTP status; 0 when there was no answer. */
    readonly status = 0
  ) {
    super(message);
    this.name = 'AirError';
  }
}

/** A column of readings; NaN is unknown. */
export type Column = Float32Array;

/** The columns that the server gave of a node; of a strip the utilization alone. */
export interface INodeColumns {
  readonly host: Readonly<Partial<Record<HostMetric, Column>>>;
  readonly gpus: readonly Readonly<Partial<Record<GpuMetric, Column>>>[];
}

/** What `GET gpu` is asked. */
export interface IGpuQuestion {
  /** Of the answer before; empty for everything. */
  readonly cursor: string;
  /** What the cursor belongs to. */
  readonly layout: ILayout | null;
  /** Of a large fleet, the nodes whose columns are wanted. */
  readonly details: ReadonlyMap<string, Detail>;
  /** Whether their columns are wanted from the beginning. */
  readonly whole?: boolean;
}

/** One answer of `GET gpu`. */
export interface IGpuPoll {
  readonly cursor: string;
  readonly timeS: number;
  readonly pollIntervalS: number;
  readonly windowS: number;
  readonly monitor: IMonitor;
  readonly layout: ILayout;
  readonly layoutChanged: boolean;
  readonly agesS: readonly (number | null)[];
  readonly replaceFromS: number;
  readonly times: Float64Array;
  /** Null for a node whose columns were not asked for. */
  readonly columns: readonly (INodeColumns | null)[];
  /** Of a large fleet, each node in brief; null for a small one, whose columns are all here. */
  readonly briefs: readonly (IBrief | null)[] | null;
}

const NODE_STATES: readonly string[] = ['live', 'stale', 'no-driver', 'no-gpu', 'error'];
const GPU_STATES: readonly string[] = ['ok', 'lost', 'missing', 'error'];
/** Names come from other machines: they are text, and bounded. */
const MAX_TEXT = 200;
const MAX_REASON = 1000;

export type Json = Readonly<Record<string, unknown>>;

export function malformed(what: string): AirError {
  return new AirError('malformed', `The server's answer has no usable ${what}.`);
}

export function record(value: unknown, what: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed(what);
  }
  return value as Json;
}

export function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    throw malformed(what);
  }
  return value as readonly unknown[];
}

function number(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw malformed(what);
  }
  return value;
}

export function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function text(value: unknown, limit = MAX_TEXT): string {
  const whole = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
  return whole.length > limit ? `${whole.slice(0, limit - 1)}…` : whole;
}

export function textOrNull(value: unknown, limit = MAX_TEXT): string | null {
  return text(value, limit) || null;
}

function decodeGpu(value: unknown): IGpu {
  const gpu = record(value, 'GPU');
  const index = text(gpu.index);
  const state = text(gpu.state);
  return {
    key: text(gpu.uuid) || `#${index}`,
    index,
    name: text(gpu.name),
    parent: textOrNull(gpu.parent_uuid),
    migProfile: textOrNull(gpu.mig_profile),
    state: (GPU_STATES.includes(state) ? state : 'error') as GpuState,
    reason: textOrNull(gpu.reason, MAX_REASON),
    memoryTotal: numberOrNull(gpu.memory_total_bytes),
    memoryStep: numberOrNull(gpu.memory_step_bytes) ?? 1,
    memoryNote: textOrNull(gpu.memory_note, MAX_REASON),
    powerLimit: numberOrNull(gpu.power_limit_w)
  };
}

function decodeHost(value: unknown): IHost | null {
  if (value === null || value === undefined) {
    return null;
  }
  const host = record(value, 'host');
  return {
    cpuCount: numberOrNull(host.cpu_count),
    memoryTotal: numberOrNull(host.memory_total_bytes),
    memoryStep: numberOrNull(host.memory_step_bytes) ?? 1
  };
}

function decodeNode(value: unknown): INode {
  const node = record(value, 'node');
  const state = text(node.state);
  return {
    id: text(node.id),
    name: text(node.name) || text(node.id),
    source: text(node.source),
    local: node.local === true,
    simulated: node.simulated === true,
    state: (NODE_STATES.includes(state) ? state : 'error') as NodeState,
    reason: textOrNull(node.reason, MAX_REASON),
    hint: textOrNull(node.hint, MAX_REASON),
    driver: textOrNull(node.driver),
    host: decodeHost(node.host),
    gpus: list(node.gpus, 'list of GPUs').map(decodeGpu)
  };
}

function decodeLayout(value: unknown): ILayout {
  const layout = record(value, 'layout');
  return {
    throttleReasons: list(layout.throttle_reasons, 'throttle reasons').map(name => text(name)),
    nodes: list(layout.nodes, 'list of nodes').map(decodeNode)
  };
}

function decodeMonitor(value: unknown): IMonitor {
  const monitor = record(value, 'monitor');
  return {
    state: monitor.state === 'paused' ? 'paused' : 'live',
    pausesInS: numberOrNull(monitor.pauses_in_s),
    pauseAfterS: numberOrNull(monitor.pause_after_s),
    keepWhileBusy: monitor.keep_while_busy === true,
    busy: monitor.busy === true
  };
}

function decodeColumn(value: unknown, step: number, length: number, what: string): Column {
  const wire = list(value, what);
  if (wire.length !== length) {
    throw malformed(`${what} (${wire.length} readings for ${length} times)`);
  }
  return Float32Array.from(wire, reading => (typeof reading === 'number' ? reading * step : NaN));
}

function decodeColumns<M extends GpuMetric | HostMetric>(
  value: unknown,
  metrics: readonly M[],
  memoryStep: number,
  length: number
): Partial<Record<M, Column>> {
  const columns: Partial<Record<M, Column>> = {};
  list(value, 'columns')
    .slice(0, metrics.length)
    .forEach((column, i) => {
      // Memory comes in steps of its own, all else in whole units.
      const metric = metrics[i];
      const step = metric === 'memory' ? memoryStep : 1;
      columns[metric] = decodeColumn(column, step, length, `column of ${metric}`);
    });
  return columns;
}

function decodeNodeColumns(value: unknown, node: INode, length: number): INodeColumns | null {
  if (value === null) {
    return null;
  }
  const wire = record(value, 'columns of a node');
  const gpus = list(wire.gpus, 'columns of GPUs');
  if (gpus.length !== node.gpus.length) {
    throw malformed('columns of its GPUs');
  }
  return {
    host: decodeColumns(wire.host, HOST_METRICS, node.host?.memoryStep ?? 1, length),
    gpus: node.gpus.map((gpu, j) => decodeColumns(gpus[j], GPU_METRICS, gpu.memoryStep, length))
  };
}

function decodeBrief(value: unknown): IBrief | null {
  if (value === null) {
    return null;
  }
  const [utilization, memoryUsed, memoryTotal, temperature, power, throttle] = list(value, 'brief').map(
    numberOrNull
  );
  return { utilization, memoryUsed, memoryTotal, temperature, power, throttle };
}

/** Reads an answer of `GET gpu`; `layout` is the one that an answer without a layout of its own refers to. */
export function decodePoll(answer: unknown, layout: ILayout | null): IGpuPoll {
  const wire = record(answer, 'content');
  const layoutChanged = wire.layout !== null && wire.layout !== undefined;
  const current = layoutChanged ? decodeLayout(wire.layout) : layout;
  if (current === null) {
    throw malformed('layout');
  }
  const times = Float64Array.from(list(wire.times_s, 'times'), time => number(time, 'time'));
  const columns = list(wire.columns, 'columns');
  const briefs = wire.brief === undefined ? null : list(wire.brief, 'briefs').map(decodeBrief);
  if (columns.length !== current.nodes.length || (briefs && briefs.length !== current.nodes.length)) {
    throw malformed('columns of its nodes');
  }
  return {
    cursor: text(wire.cursor, Infinity),
    timeS: number(wire.time_s, 'time'),
    pollIntervalS: number(wire.poll_interval_s, 'interval'),
    windowS: number(wire.window_s, 'window'),
    monitor: decodeMonitor(wire.monitor),
    layout: current,
    layoutChanged,
    agesS: list(wire.ages_s, 'ages').map(numberOrNull),
    replaceFromS: number(wire.replace_from_s, 'time to replace from'),
    times,
    columns: current.nodes.map((node, i) => decodeNodeColumns(columns[i], node, times.length)),
    briefs
  };
}

async function failure(response: Response): Promise<AirError> {
  let body: Json = {};
  try {
    body = record(await response.json(), 'error');
  } catch {
    // Not ours: a proxy's page, or the server without our extension. The status says enough.
  }
  return new AirError(
    textOrNull(body.code) ?? textOrNull(body.error_code) ?? `http-${response.status}`,
    textOrNull(body.message, MAX_REASON) ?? `${response.status} ${response.statusText}`.trim(),
    textOrNull(body.hint, MAX_REASON),
    response.status
  );
}

/** Asks a route under `{base_url}jupyter-air/`. */
export function request(
  settings: ServerConnection.ISettings,
  path: string,
  init?: RequestInit
): Promise<Response> {
  return ask(settings, `${URLExt.join(settings.baseUrl, 'jupyter-air')}/${path}`, init);
}

/** Asks the Jupyter server; its answer is one of success. */
export async function ask(
  settings: ServerConnection.ISettings,
  url: string,
  init: RequestInit = {}
): Promise<Response> {
  let response: Response;
  try {
    response = await ServerConnection.makeRequest(url, init, settings);
  } catch (reason) {
    throw new AirError('unreachable', reason instanceof Error ? reason.message : String(reason));
  }
  if (!response.ok) {
    throw await failure(response);
  }
  return response;
}

/** The routes under `{base_url}jupyter-air/` that the GPU pane uses. */
export class GpuApi {
  constructor(private readonly _settings: ServerConnection.ISettings = ServerConnection.makeSettings()) {}

  /** The readings after a cursor; everything when it is empty. */
  async poll({ cursor, layout, details, whole = false }: IGpuQuestion): Promise<IGpuPoll> {
    const query = new URLSearchParams(cursor ? { since: cursor } : {});
    details.forEach((detail, node) => query.append(detail, node));
    if (whole) {
      query.set('whole', '1');
    }
    const response = await this._request(query.size ? `gpu?${query}` : 'gpu');
    let answer: unknown;
    try {
      answer = await response.json();
    } catch {
      throw malformed('JSON');
    }
    return decodePoll(answer, layout);
  }

  async activity(keepWhileBusy: boolean): Promise<void> {
    await this._request('gpu/activity', {
      method: 'POST',
      body: JSON.stringify({ keep_while_busy: keepWhileBusy })
    });
  }

  async refresh(): Promise<void> {
    await this._request('gpu/refresh', { method: 'POST', body: '{}' });
  }

  async csv(): Promise<Blob> {
    return (await this._request('gpu/history.csv')).blob();
  }

  /** Who holds each GPU's memory, as the server says it. */
  async holders(): Promise<unknown> {
    return (await this._request('gpu/holders')).json();
  }

  private _request(path: string, init?: RequestInit): Promise<Response> {
    return request(this._settings, path, init);
  }
}
