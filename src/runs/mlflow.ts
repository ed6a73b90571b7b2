/** MLflow's own REST, through the Jupyter server. What comes back was written by anybody: text, and bounded. */
import { ServerConnection } from '@jupyterlab/services';
import { AirError, ask, Json, list, malformed, numberOrNull, record, text } from '../api';

/** MLflow's limit is 250 letters for a key and 6,000 for a value; more than that is never shown of a name. */
const MAX_KEY = 250;
const MAX_VALUE = 1000;
const MAX_NAME = 500;
const STATUSES = ['RUNNING', 'SCHEDULED', 'FINISHED', 'FAILED', 'KILLED'] as const;

/** Why a run ended as it did, in a sentence. */
export const END_REASON_TAG = 'jupyter_air.end_reason';

export type RunStatus = (typeof STATUSES)[number];
export type RunView = 'ACTIVE_ONLY' | 'DELETED_ONLY' | 'ALL';

export interface IRun {
  readonly id: string;
  readonly experimentId: string;
  readonly name: string;
  /** Null for a status that is not MLflow's. */
  readonly status: RunStatus | null;
  /** Milliseconds since the epoch; null is unknown. */
  readonly startMs: number | null;
  readonly endMs: number | null;
  readonly deleted: boolean;
  /** The latest value of each; NaN and infinities are values. */
  readonly metrics: ReadonlyMap<string, number>;
  /** Where each was logged last; null is unknown. */
  readonly steps: ReadonlyMap<string, number | null>;
  readonly params: ReadonlyMap<string, string>;
  readonly tags: ReadonlyMap<string, string>;
}

export interface IExperiment {
  readonly id: string;
  readonly name: string;
  readonly deleted: boolean;
}

export interface IRunsQuestion {
  readonly experimentIds: readonly string[];
  /** In MLflow's filter language; empty for all. */
  readonly filter?: string;
  /** Such as `attributes.start_time DESC`. */
  readonly orderBy?: readonly string[];
  readonly view?: RunView;
  /** At most 1,000. */
  readonly limit: number;
  /** Of the page before; empty for the first. */
  readonly pageToken?: string;
}

export interface IPage<T> {
  readonly items: readonly T[];
  /** Null on the last page. */
  readonly nextPageToken: string | null;
}

/** Null for what is no status of MLflow's. */
export function runStatus(value: unknown): RunStatus | null {
  return STATUSES.find(status => status === value) ?? null;
}

/** Values beyond a float are strings in MLflow's JSON. */
export function metricValue(value: unknown): number {
  if (typeof value === 'number') {
    return value;
  }
  return value === 'Infinity' ? Infinity : value === '-Infinity' ? -Infinity : NaN;
}

function timeMs(value: unknown): number | null {
  const time = numberOrNull(typeof value === 'string' && value !== '' ? Number(value) : value);
  return time !== null && time > 0 ? time : null;
}

const step = (value: unknown): number | null =>
  numberOrNull(typeof value === 'string' ? Number(value) : value);

function pairs<T>(value: unknown, read: (value: unknown) => T, field = 'value'): ReadonlyMap<string, T> {
  return new Map(
    list(value ?? [], 'data of a run').map(item => {
      const pair = record(item, 'data of a run');
      return [text(pair.key, MAX_KEY), read(pair[field])];
    })
  );
}

const words = (value: unknown): string => (typeof value === 'string' ? text(value, MAX_VALUE) : '');

export function decodeRun(value: unknown): IRun {
  const wire = record(value, 'run');
  const info = record(wire.info, 'run');
  const data = record(wire.data ?? {}, 'data of a run');
  const tags = pairs(data.tags, words);
  const id = text(info.run_id, MAX_KEY);
  const name = typeof info.run_name === 'string' ? info.run_name : (tags.get('mlflow.runName') ?? '');
  return {
    id,
    experimentId: text(info.experiment_id, MAX_KEY),
    name: name === '' ? id : text(name, MAX_NAME),
    status: runStatus(info.status),
    startMs: timeMs(info.start_time),
    endMs: timeMs(info.end_time),
    deleted: info.lifecycle_stage === 'deleted',
    metrics: pairs(data.metrics, metricValue),
    steps: pairs(data.metrics, step, 'step'),
    params: pairs(data.params, words),
    tags
  };
}

function decodeExperiment(value: unknown): IExperiment {
  const wire = record(value, 'experiment');
  return {
    id: text(wire.experiment_id, MAX_KEY),
    name: text(wire.name, MAX_NAME),
    deleted: wire.lifecycle_stage === 'deleted'
  };
}

function decodePage<T>(answer: Json, key: string, decode: (value: unknown) => T): IPage<T> {
  const token = answer.next_page_token;
  return {
    items: list(answer[key] ?? [], key).map(decode),
    nextPageToken: typeof token === 'string' && token !== '' ? token : null
  };
}

/**
 * Whether MLflow's REST is asked at this address, which may stand in anybody's notebook: only below the proxy of this
 * very Jupyter server.
 */
export function isProxied(rest: string, settings: ServerConnection.ISettings): boolean {
  const { origin, pathname } = new URL(settings.baseUrl, window.location.href);
  const url = new URL(rest, origin);
  return (
    url.origin === origin && url.pathname.startsWith(`${pathname.replace(/\/$/, '')}/jupyter-air/mlflow`)
  );
}

/** MLflow's REST at one address. */
export class MlflowApi {
  /**
   * @param rest Root-relative address of the proxy, ending in a slash.
   * @throws AirError for any other address.
   */
  constructor(
    readonly rest: string,
    private readonly _settings: ServerConnection.ISettings = ServerConnection.makeSettings()
  ) {
    if (!isProxied(rest, _settings)) {
      throw new AirError('foreign', 'This Jupyter server does not lead to the MLflow that has these runs.');
    }
    const { origin } = new URL(_settings.baseUrl, window.location.href);
    this._api = new URL('api/2.0/mlflow/', new URL(rest.endsWith('/') ? rest : `${rest}/`, origin)).href;
  }

  async run(id: string): Promise<IRun> {
    const answer = await this._get('runs/get', { run_id: id });
    return decodeRun(answer.run);
  }

  async runs(question: IRunsQuestion): Promise<IPage<IRun>> {
    const answer = await this._post('runs/search', {
      experiment_ids: question.experimentIds,
      filter: question.filter ?? '',
      order_by: question.orderBy ?? [],
      run_view_type: question.view ?? 'ACTIVE_ONLY',
      max_results: question.limit,
      ...(question.pageToken ? { page_token: question.pageToken } : {})
    });
    return decodePage(answer, 'runs', decodeRun);
  }

  async experiment(id: string): Promise<IExperiment> {
    const answer = await this._get('experiments/get', { experiment_id: id });
    return decodeExperiment(answer.experiment);
  }

  /** Null where there is none of this name. */
  async experimentByName(name: string): Promise<IExperiment | null> {
    try {
      const answer = await this._get('experiments/get-by-name', { experiment_name: name });
      return decodeExperiment(answer.experiment);
    } catch (reason) {
      if (reason instanceof AirError && reason.code === 'RESOURCE_DOES_NOT_EXIST') {
        return null;
      }
      throw reason;
    }
  }

  /** @param filter Such as `name LIKE '%tune%'`; empty for all. */
  async experiments(limit: number, filter = '', pageToken = ''): Promise<IPage<IExperiment>> {
    const answer = await this._post('experiments/search', {
      max_results: limit,
      view_type: 'ACTIVE_ONLY',
      order_by: ['last_update_time DESC'],
      ...(filter ? { filter } : {}),
      ...(pageToken ? { page_token: pageToken } : {})
    });
    return decodePage(answer, 'experiments', decodeExperiment);
  }

  /** Ends a run as of now. */
  async end(id: string, status: 'FINISHED' | 'FAILED' | 'KILLED'): Promise<void> {
    await this._post('runs/update', { run_id: id, status, end_time: Date.now() });
  }

  async rename(id: string, name: string): Promise<void> {
    await this._post('runs/update', { run_id: id, run_name: name });
  }

  async setTag(id: string, key: string, value: string): Promise<void> {
    await this._post('runs/set-tag', { run_id: id, key, value });
  }

  async delete(id: string): Promise<void> {
    await this._post('runs/delete', { run_id: id });
  }

  async restore(id: string): Promise<void> {
    await this._post('runs/restore', { run_id: id });
  }

  private _get(path: string, query: Record<string, string>): Promise<Json> {
    return this._ask(`${path}?${new URLSearchParams(query)}`);
  }

  private _post(path: string, body: object): Promise<Json> {
    // MLflow refuses any other type of body.
    const headers = { 'Content-Type': 'application/json' };
    return this._ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  private async _ask(path: string, init?: RequestInit): Promise<Json> {
    const response = await ask(this._settings, `${this._api}${path}`, init);
    let answer: unknown;
    try {
      answer = await response.json();
    } catch {
      throw malformed('JSON');
    }
    return record(answer, 'content');
  }

  private readonly _api: string;
}
