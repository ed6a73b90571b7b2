/** The state of the GPU pane: what the server last said, the history, and when to ask again. */
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { AirError, GpuApi, IGpuPoll } from '../api';
import { Detail, IBrief, ILayout, IMonitor, INode } from '../tokens';
import { Attention } from './attention';
import { briefOf } from './brief';
import { Series } from './series';

/** Seconds after a sample is due at which we ask for it: by then the server has it. */
const SAMPLE_LATENCY_S = 0.7;
const MAX_BACKOFF_MS = 60_000;
const FIRST_INTERVAL_MS = 10_000;
/** A person who scrolls is asked for when the scrolling rests. */
const LOOK_MS = 120;
const NO_NODES: readonly INode[] = [];

/** Whether two monitors differ in nothing but the time until the pause, which changes at every answer. */
function sameMonitor(a: IMonitor, b: IMonitor | null): boolean {
  return (
    a.state === b?.state &&
    a.busy === b.busy &&
    a.keepWhileBusy === b.keepWhileBusy &&
    a.pauseAfterS === b.pauseAfterS
  );
}

export interface IGpuModelOptions {
  readonly api: Pick<GpuApi, 'poll' | 'refresh'>;
  /** Whether the page can be seen; replaced in tests. */
  readonly hidden?: () => boolean;
}

export class GpuModel {
  constructor(options: IGpuModelOptions) {
    this._api = options.api;
    this._hidden = options.hidden ?? (() => document.hidden);
    this._poll = new Poll<void, AirError>({
      name: 'jupyter-air:gpu',
      auto: false,
      factory: () => this._ask(),
      frequency: { interval: FIRST_INTERVAL_MS, backoff: true, max: MAX_BACKOFF_MS },
      standby: () => !this._active || this._hidden()
    });
  }

  /** Nodes, the monitor or the connection changed. */
  get stateChanged(): ISignal<this, void> {
    return this._stateChanged;
  }

  /** An answer came; readings and ages are new. */
  get dataChanged(): ISignal<this, void> {
    return this._dataChanged;
  }

  get nodes(): readonly INode[] {
    return this._layout?.nodes ?? NO_NODES;
  }

  get throttleReasons(): readonly string[] {
    return this._layout?.throttleReasons ?? [];
  }

  /** Whether there are so many GPUs that a node's history comes only when somebody looks at it. */
  get isLarge(): boolean {
    return this._briefs !== null;
  }

  /** The newest readings of a node together; null when there are none. */
  brief(node: INode): IBrief | null {
    return this._briefs ? (this._briefs.get(node.id) ?? null) : briefOf(this._series, node);
  }

  /** Says how closely a node of a large fleet is looked at; null when it no longer is. */
  look(node: string, detail: Detail | null): void {
    this._attention.look(node, detail);
    clearTimeout(this._looking);
    this._looking = setTimeout(() => {
      if (this._attention.missing.size > 0) {
        this.wake();
      }
    }, LOOK_MS);
  }

  /** Null until the first answer. */
  get monitor(): IMonitor | null {
    return this._monitor;
  }

  /** Why the last question failed; null when it did not. */
  get problem(): AirError | null {
    return this._problem;
  }

  get pollIntervalS(): number {
    return this._pollIntervalS;
  }

  get windowS(): number {
    return this._windowS;
  }

  get isRefreshing(): boolean {
    return this._refreshing !== null;
  }

  /** The server's clock at the last answer: the right edge of the charts. */
  get timeS(): number {
    return this._timeS;
  }

  /** The server's clock now, without trust in the browser's. */
  get serverNowS(): number {
    return this._timeS + this._sinceAnswerS();
  }

  /** Seconds to add to the browser's clock for the server's. */
  get clockOffsetS(): number {
    return this._clockOffsetS;
  }

  /** Seconds since a node's newest reading; null when there has been none. */
  ageS(node: string): number | null {
    const age = this._agesS.get(node) ?? null;
    return age === null ? null : age + this._sinceAnswerS();
  }

  /** Seconds until the monitor pauses by itself; null when it will not. */
  get pausesInS(): number | null {
    const left = this._monitor?.pausesInS ?? null;
    return left === null ? null : Math.max(0, left - this._sinceAnswerS());
  }

  /** Whether anybody looks: a visible panel, or the item in the status bar. */
  get isActive(): boolean {
    return this._active;
  }
  set isActive(active: boolean) {
    if (this._active === active || this._disposed) {
      return;
    }
    this._active = active;
    if (active) {
      void this._poll.refresh();
    } else {
      void this._poll.stop();
    }
  }

  /** Asks at once, when anybody looks: the page may be seen again. */
  wake(): void {
    if (this._active) {
      void this._poll.refresh();
    }
  }

  /** Takes a sample now, resumes a paused monitor, and shows the result. */
  refresh(): Promise<void> {
    this._refreshing ??= this._refresh().finally(() => {
      this._refreshing = null;
      this._stateChanged.emit();
    });
    this._stateChanged.emit();
    return this._refreshing;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    clearTimeout(this._looking);
    this._poll.dispose();
    Signal.clearData(this);
  }

  private async _refresh(): Promise<void> {
    try {
      await this._api.refresh();
    } catch (reason) {
      this._fail(reason);
    }
    if (this._active && !this._disposed) {
      // Not `refresh()`, which would be content with a question that was asked before the sample was taken.
      await this._poll.schedule({ interval: Poll.IMMEDIATE, phase: 'refreshed' });
      await this._poll.tick.catch(() => undefined);
    }
  }

  private async _ask(): Promise<void> {
    const asked = ++this._asked;
    // A later question is on its way; its answer starts from the same cursor.
    const isLate = (): boolean => asked !== this._asked || this._disposed;
    try {
      const answer = await this._api.poll({
        cursor: this._cursor,
        layout: this._layout,
        details: new Map(this._attention.followed)
      });
      if (isLate()) {
        return;
      }
      this._take(answer);
      const missing = new Map(this._attention.missing);
      if (this.isLarge && missing.size > 0) {
        const past = await this._api.poll({
          cursor: this._cursor,
          layout: this._layout,
          details: missing,
          whole: true
        });
        if (!isLate()) {
          this._fill(past, missing);
        }
      }
    } catch (reason) {
      if (!isLate()) {
        this._restoreInterval();
        throw this._fail(reason);
      }
    }
  }

  private _take(answer: IGpuPoll): void {
    const changed =
      answer.layoutChanged || this._problem !== null || !sameMonitor(answer.monitor, this._monitor);
    this._series.update(answer);
    this._cursor = answer.cursor;
    this._layout = answer.layoutChanged ? answer.layout : this._layout;
    this._briefs =
      answer.briefs && new Map(answer.layout.nodes.map((node, n) => [node.id, answer.briefs?.[n] ?? null]));
    this._monitor = answer.monitor;
    this._agesS = new Map(answer.layout.nodes.map((node, n) => [node.id, answer.agesS[n] ?? null]));
    this._timeS = answer.timeS;
    this._clockOffsetS = answer.timeS - Date.now() / 1000;
    this._pollIntervalS = answer.pollIntervalS;
    this._windowS = answer.windowS;
    this._answeredMs = performance.now();
    this._problem = null;
    this._align();
    if (answer.layoutChanged) {
      this._letGo(answer);
    }
    if (changed) {
      this._stateChanged.emit();
    }
    this._dataChanged.emit();
  }

  /** A fleet that became small is followed whole; in one that became large nobody has been looked at yet. */
  private _letGo({ briefs, layout }: IGpuPoll): void {
    if (briefs === null) {
      this._attention.forget();
    } else {
      layout.nodes
        .filter(node => !this._attention.followed.has(node.id))
        .forEach(node => this._series.drop(node.id));
    }
  }

  private _fill(past: IGpuPoll, nodes: ReadonlyMap<string, Detail>): void {
    if (!past.layoutChanged) {
      this._series.fill(past);
      this._attention.follow(nodes).forEach(node => this._series.drop(node));
      this._dataChanged.emit();
    }
  }

  /** Shows why a question failed. A poll that fails again in the same way changes nothing. */
  private _fail(reason: unknown): AirError {
    const problem = reason instanceof AirError ? reason : new AirError('unexpected', String(reason));
    if (problem.code === 'malformed') {
      // Start over: what we hold may not be what the server believes we do.
      this._cursor = '';
      this._attention.forget();
    }
    const changed = this._problem?.code !== problem.code || this._problem.message !== problem.message;
    this._problem = problem;
    if (changed) {
      this._stateChanged.emit();
    }
    return problem;
  }

  /** Asks soon after the next sample is due, so that what is shown is fresh. */
  private _align(): void {
    const last = this._series.length ? this._series.time(this._series.length - 1) : this._timeS;
    const dueS = last + this._pollIntervalS + SAMPLE_LATENCY_S - this._timeS;
    const inTime = this._monitor?.state === 'live' && dueS > 0 && dueS <= this._pollIntervalS * 2;
    this._setInterval(Math.max(0.5, inTime ? dueS : this._pollIntervalS) * 1000);
  }

  /** Failures back off from the whole interval, not from what was left of it. */
  private _restoreInterval(): void {
    this._setInterval(this._pollIntervalS * 1000);
  }

  private _setInterval(interval: number): void {
    this._poll.frequency = { interval, backoff: true, max: Math.max(MAX_BACKOFF_MS, interval) };
  }

  private _sinceAnswerS(): number {
    return this._answeredMs === null ? 0 : (performance.now() - this._answeredMs) / 1000;
  }

  get series(): Series {
    return this._series;
  }

  private readonly _api: Pick<GpuApi, 'poll' | 'refresh'>;
  private readonly _hidden: () => boolean;
  private readonly _poll: Poll<void, AirError>;
  private readonly _series = new Series();
  private readonly _attention = new Attention();
  private readonly _stateChanged = new Signal<this, void>(this);
  private readonly _dataChanged = new Signal<this, void>(this);
  private _layout: ILayout | null = null;
  private _briefs: ReadonlyMap<string, IBrief | null> | null = null;
  private _monitor: IMonitor | null = null;
  private _problem: AirError | null = null;
  private _agesS: ReadonlyMap<string, number | null> = new Map();
  private _cursor = '';
  private _timeS = 0;
  private _clockOffsetS = 0;
  private _pollIntervalS = FIRST_INTERVAL_MS / 1000;
  private _windowS = 7200;
  private _answeredMs: number | null = null;
  private _asked = 0;
  private _looking: ReturnType<typeof setTimeout> | undefined;
  private _active = false;
  private _disposed = false;
  private _refreshing: Promise<void> | null = null;
}
