/** From where a saved card says its run is to the way there through this Jupyter server, if it has one. */
import { ServerConnection } from '@jupyterlab/services';
import { ITracking } from '../tokens';
import type { ContextApi, IRunsContext } from './context';
import { isProxied } from './mlflow';
import { addressOf, Key, keyOf } from './place';
import type { IPlace, IRunRecord } from './record';

/** Many cards are shown at once: they ask once. */
const KEPT_MS = 5000;
const NOWHERE: ILead = { rest: null, isUp: false, page: null };

export interface ILead {
  /** Where MLflow's REST is asked; null where this Jupyter server does not lead to that MLflow. */
  readonly rest: string | null;
  /** Whether to ask starts nothing. */
  readonly isUp: boolean;
  /** The run's page; root-relative through this Jupyter server, else http(s); null where a browser finds none. */
  readonly page: string | null;
}

export interface ILeadsOptions {
  readonly context: Pick<ContextApi, 'of'>;
  readonly tracking: (key: Key) => { state(): Promise<ITracking> };
}

function plain(address: string | null): string | null {
  return address?.replace(/\/+$/, '') ?? null;
}

/** One question for all who ask within seconds. */
class Kept<T> {
  constructor(private readonly _ask: () => Promise<T>) {}

  get(): Promise<T> {
    const now = Date.now();
    if (!this._answer || now - this._askedMs > KEPT_MS) {
      this._askedMs = now;
      this._answer = this._ask();
    }
    return this._answer;
  }

  private _answer: Promise<T> | null = null;
  private _askedMs = 0;
}

export class Leads {
  constructor(
    private readonly _options: ILeadsOptions,
    private readonly _settings: ServerConnection.ISettings
  ) {
    this._context = new Kept(() => _options.context.of({ kernelId: null, path: null }));
  }

  /** @throws AirError when the Jupyter server does not answer. */
  async of({ place, page }: IRunRecord): Promise<ILead> {
    const { base } = place;
    if (!base?.startsWith('/')) {
      return this._ofServer(place, page);
    }
    const { baseUrl } = this._settings;
    const key = keyOf(baseUrl, `${plain(base) ?? ''}/`);
    if (key === null) {
      return NOWHERE;
    }
    let state = this._states.get(key);
    if (!state) {
      state = new Kept(() => this._options.tracking(key).state());
      this._states.set(key, state);
    }
    return {
      rest: addressOf(baseUrl, key),
      isUp: (await state.get()).state === 'ready',
      page: page !== null && isProxied(page, this._settings) ? page : null
    };
  }

  private async _ofServer({ kind, base }: IPlace, page: string | null): Promise<ILead> {
    if (kind !== 'server' || base === null) {
      return { ...NOWHERE, page };
    }
    const { rest, pages, trackingUri } = await this._context.get();
    if (rest === null || ![plain(trackingUri), plain(pages)].includes(plain(base))) {
      return { ...NOWHERE, page };
    }
    // A server of Jupyter's machine may not be reached from the browser's.
    const fragment = page?.includes('#') ? page.slice(page.indexOf('#')) : '';
    return { rest, isUp: true, page: pages?.startsWith('/') ? `${pages}${fragment}` : page };
  }

  private readonly _context: Kept<IRunsContext>;
  private readonly _states = new Map<Key, Kept<ITracking>>();
}
