/** Tells the server that a person is at work here, so that it goes on sampling. A poll is no activity. */

/** At most one message in this time. */
const THROTTLE_MS = 30_000;
const EVENTS = ['pointerdown', 'pointermove', 'keydown', 'wheel'] as const;

export interface IActivityOptions {
  /** Whether anybody looks at the pane; otherwise its history may pause. */
  readonly isWanted: () => boolean;
  readonly send: () => Promise<void>;
  readonly now?: () => number;
}

export class Activity {
  constructor(options: IActivityOptions) {
    this._options = options;
    this._now = options.now ?? (() => performance.now());
  }

  /** Listens to a page; returns what ends that. */
  listen(target: EventTarget): () => void {
    const note = (): void => this.note();
    EVENTS.forEach(type => target.addEventListener(type, note, { capture: true, passive: true }));
    return () => EVENTS.forEach(type => target.removeEventListener(type, note, { capture: true }));
  }

  /** Somebody did something. */
  note(): void {
    if (this._options.isWanted() && this._now() - this._sentMs >= THROTTLE_MS) {
      this.tell();
    }
  }

  /** Says so at once. A message that is lost costs nothing: the next poll shows that the server is gone. */
  tell(): void {
    this._sentMs = this._now();
    this._options.send().catch(() => undefined);
  }

  private readonly _options: IActivityOptions;
  private readonly _now: () => number;
  private _sentMs = -Infinity;
}
