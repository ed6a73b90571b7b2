/** The routes that tell about the tracking server. */
import { ServerConnection } from '@jupyterlab/services';
import { malformed, numberOrNull, record, request, text } from '../api';
import { ITracking, TrackingState } from '../tokens';

const STATES: readonly string[] = ['none', 'stopped', 'starting', 'ready', 'failed'];
const MAX_SENTENCE = 1000;
const MAX_URL = 4000;

function decodePage(value: unknown): ITracking['page'] {
  if (value === null || value === undefined) {
    return null;
  }
  const page = record(value, 'page of MLflow');
  const url = text(page.url, MAX_URL);
  const outside = page.outside === true;
  // It becomes a link and a frame: nothing that is a script, and inside only what is at Jupyter's own address.
  if (outside ? !/^https?:\/\//i.test(url) : !/^\/(?![/\\])/.test(url)) {
    throw malformed('address of MLflow');
  }
  return { url, outside };
}

/** Reads an answer of `GET tracking`. */
export function decodeTracking(answer: unknown): ITracking {
  const wire = record(answer, 'content');
  const state = text(wire.state);
  return {
    state: (STATES.includes(state) ? state : 'failed') as TrackingState,
    message: text(wire.message, MAX_SENTENCE),
    elapsedS: numberOrNull(wire.elapsed_s),
    note: text(wire.note, MAX_SENTENCE),
    page: decodePage(wire.page)
  };
}

export class TrackingApi {
  /** With a key, of the store in that folder; else of the main server. */
  constructor(
    private readonly _settings: ServerConnection.ISettings = ServerConnection.makeSettings(),
    private readonly _key = ''
  ) {}

  /** How far the tracking server is. */
  state(): Promise<ITracking> {
    return this._ask('tracking');
  }

  /** Starts it when it is not there; answers at once. */
  start(): Promise<ITracking> {
    return this._ask('tracking/start', { method: 'POST', body: '{}' });
  }

  private async _ask(path: string, init?: RequestInit): Promise<ITracking> {
    const which = this._key === '' ? '' : `?beside=${this._key}`;
    const response = await request(this._settings, `${path}${which}`, init);
    let answer: unknown;
    try {
      answer = await response.json();
    } catch {
      throw malformed('JSON');
    }
    return decodeTracking(answer);
  }
}
