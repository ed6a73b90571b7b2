/** The tracking server while somebody waits for it: asked to start once, and how far it is until it is there. */
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { AirError } from '../api';
import { ITracking } from '../tokens';
import type { TrackingApi } from './api';

const INTERVAL_MS = 1000;
const MAX_BACKOFF_MS = 10_000;

export class TrackingModel {
  constructor(private readonly _api: Pick<TrackingApi, 'start' | 'state'>) {
    this._poll = new Poll<void, AirError>({
      name: 'jupyter-air:tracking',
      auto: false,
      factory: () => this._ask(),
      frequency: { interval: INTERVAL_MS, backoff: true, max: MAX_BACKOFF_MS },
      standby: 'when-hidden'
    });
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Null until the first answer. */
  get tracking(): ITracking | null {
    return this._tracking;
  }

  /** Why the last question failed; null when it did not. */
  get problem(): AirError | null {
    return this._problem;
  }

  /** Starts the server, again when that failed. */
  start(): Promise<void> {
    this._isAsked = false;
    this._tracking = null;
    this._problem = null;
    this._changed.emit();
    return this._poll.refresh();
  }

  dispose(): void {
    this._poll.dispose();
    Signal.clearData(this);
  }

  private async _ask(): Promise<void> {
    try {
      const tracking = await (this._isAsked ? this._api.state() : this._api.start());
      this._isAsked = true;
      this._tracking = tracking;
      this._problem = null;
      if (tracking.state !== 'starting' && tracking.state !== 'stopped') {
        void this._poll.stop();
      }
    } catch (reason) {
      this._problem = reason instanceof AirError ? reason : new AirError('unknown', String(reason));
      if (this._problem.code !== 'unreachable') {
        // The server has spoken: asking again each second would change nothing.
        void this._poll.stop();
      }
      throw this._problem;
    } finally {
      if (!this._poll.isDisposed) {
        this._changed.emit();
      }
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _poll: Poll<void, AirError>;
  private _isAsked = false;
  private _tracking: ITracking | null = null;
  private _problem: AirError | null = null;
}
