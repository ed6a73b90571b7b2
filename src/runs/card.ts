/** A run's card while it is looked at: what its notebook saved, and what MLflow says since. */
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';
import type { ILead } from './lead';
import type { INews, LiveRuns } from './live';
import { END_REASON_TAG, type IRun, type RunStatus } from './mlflow';
import type { IRunRecord } from './record';

/** What a kernel has just said is so, without asking. */
const FRESH_MS = 60_000;

/** What a card shows. */
export interface ICard {
  readonly name: string;
  readonly experiment: string;
  readonly status: RunStatus | null;
  readonly endReason: string | null;
  readonly startMs: number | null;
  /** Null while it runs, and where it is unknown. */
  readonly endMs: number | null;
  /** Whether it lasts as of now: its duration goes on. */
  readonly isTicking: boolean;
  /** When all this was so, where it may be so no more; null when it is so now. */
  readonly asOfMs: number | null;
  /** Why nothing else will come. */
  readonly gone: 'deleted' | 'missing' | null;
  readonly metrics: ReadonlyMap<string, number>;
  /** Of the run's own; more than there are in `metrics` where the record has left some out. */
  readonly metricCount: number;
  /** As MLflow has it; null until it was asked. */
  readonly run: IRun | null;
  readonly page: string | null;
}

export interface ICardModelOptions {
  readonly live: LiveRuns;
  readonly lead: (record: IRunRecord) => Promise<ILead>;
}

export class CardModel implements IDisposable {
  constructor(private readonly _options: ICardModelOptions) {
    _options.live.news.connect(this._onNews, this);
    _options.live.problemChanged.connect(this._onProblem, this);
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._options.live.news.disconnect(this._onNews, this);
      this._options.live.problemChanged.disconnect(this._onProblem, this);
      this._unwatch();
      Signal.clearData(this);
    }
  }

  /** Takes what a kernel says now, or what a notebook has kept of it. */
  tell(record: IRunRecord): void {
    if (this._record?.id !== record.id) {
      this._unwatch();
      this._lead = null;
      this._run = undefined;
      this._heardMs = null;
    }
    this._record = record;
    this._isFresh = record.seenMs !== null && Math.abs(Date.now() - record.seenMs) < FRESH_MS;
    this._isNewer = this._run !== undefined;
    if (this._watch && this._lead?.rest) {
      this._options.live.again(this._lead.rest, record.id);
    }
    this._follow();
    this._changed.emit();
  }

  /** Whether somebody sees the card. */
  set isShown(isShown: boolean) {
    this._isShown = isShown;
    this._follow();
  }

  /** Null before there is a record. */
  get card(): ICard | null {
    const record = this._record;
    if (!record) {
      return null;
    }
    const run = this._run ?? null;
    const isSaved = run === null || this._isNewer;
    const status = this._status(record);
    const gone = this._run === null ? 'missing' : run?.deleted ? 'deleted' : null;
    const isGoingOn = isOngoing(status);
    const isNow = gone === null && this._isCurrent();
    return {
      name: run?.name ?? record.name,
      experiment: record.experiment,
      status,
      endReason: run?.tags.get(END_REASON_TAG) ?? record.endReason,
      startMs: run?.startMs ?? record.startMs,
      endMs: isGoingOn ? null : isSaved ? record.endMs : run.endMs,
      isTicking: isGoingOn && isNow,
      asOfMs: isGoingOn && !isNow ? ((run ? this._heardMs : null) ?? record.seenMs) : null,
      gone,
      metrics: run ? new Map([...run.metrics, ...(this._isNewer ? record.metrics : [])]) : record.metrics,
      metricCount: run ? 0 : record.metricCount,
      run,
      page: gone === 'missing' ? null : (this._lead?.page ?? null)
    };
  }

  private _status(record: IRunRecord): RunStatus | null {
    return this._run && !this._isNewer ? this._run.status : record.status;
  }

  private _isCurrent(): boolean {
    const rest = this._lead ? this._lead.rest : undefined;
    const isAnswered = !rest || this._options.live.problem(rest) === null;
    // What a kernel has just said is so, until the way to MLflow says otherwise or there is none.
    return isAnswered && (this._run !== undefined || (this._isFresh && rest !== null));
  }

  /** Asks MLflow as long as somebody looks and something may change. */
  private _follow(): void {
    const record = this._record;
    if (!this._isShown || !record) {
      this._unwatch();
      return;
    }
    if (!this._lead) {
      void this._findLead(record);
      return;
    }
    const { live } = this._options;
    const { rest, isUp } = this._lead;
    if (this._watch || rest === null || !this._isWorthAsking(record, isUp)) {
      return;
    }
    this._watch = live.watch(rest, record.id);
    const known = live.known(rest, record.id);
    if (this._isNewer) {
      live.again(rest, record.id);
    } else if (known !== undefined) {
      this._take(known);
    }
  }

  /** A run that has ended is asked for once, and MLflow is not started for it. */
  private _isWorthAsking(record: IRunRecord, isUp: boolean): boolean {
    const isHeard = this._run !== undefined && !this._isNewer;
    const isGone = this._run === null || this._run?.deleted === true;
    return (isOngoing(this._status(record)) && !isGone) || (!isHeard && isUp);
  }

  private async _findLead(record: IRunRecord): Promise<void> {
    if (this._isFinding) {
      return;
    }
    this._isFinding = true;
    try {
      const lead = await this._options.lead(record);
      if (!this._isDisposed && this._record?.id === record.id) {
        this._lead = lead;
        this._changed.emit();
      }
    } catch {
      // The Jupyter server is away: what is saved stays, and whoever looks again asks again.
      return;
    } finally {
      this._isFinding = false;
    }
    if (!this._isDisposed) {
      this._follow();
    }
  }

  private _take(run: IRun | null): void {
    this._run = run;
    this._heardMs = Date.now();
    this._isNewer = false;
    this._changed.emit();
  }

  private _onNews(_: LiveRuns, { rest, id, run }: INews): void {
    if (rest === this._lead?.rest && id === this._record?.id) {
      this._take(run);
    }
  }

  private _onProblem(_: LiveRuns, rest: string): void {
    if (rest === this._lead?.rest) {
      this._changed.emit();
    }
  }

  private _unwatch(): void {
    this._watch?.dispose();
    this._watch = null;
  }

  private readonly _changed = new Signal<this, void>(this);
  private _isDisposed = false;
  private _isShown = false;
  private _isFinding = false;
  private _record: IRunRecord | null = null;
  private _lead: ILead | null = null;
  private _watch: IDisposable | null = null;
  /** Undefined before MLflow was heard, null when it does not have the run. */
  private _run: IRun | null | undefined = undefined;
  private _heardMs: number | null = null;
  /** Whether the record is newer than what MLflow said. */
  private _isNewer = false;
  private _isFresh = false;
}

function isOngoing(status: RunStatus | null): boolean {
  return status === 'RUNNING' || status === 'SCHEDULED';
}
