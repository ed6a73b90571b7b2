/** What is known of runs, in one place: a card and the panel that show the same run show the same. */
import { DisposableDelegate, IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { AirError } from '../api';
import type { IRun, MlflowApi } from './mlflow';

const INTERVAL_MS = 2000;
const MAX_BACKOFF_MS = 30_000;
/** In one question to MLflow. */
const MOST_RUNS = 100;
/** As MLflow makes them: whatever else calls itself an id is not put into a filter. */
const RUN_ID = /^[\w-]{1,64}$/;
/** What MLflow calls a run that it does not have, or whose id cannot be one. */
const MISSING = ['RESOURCE_DOES_NOT_EXIST', 'INVALID_PARAMETER_VALUE'];

/** What was heard of a run, or of the way to it. */
export interface INews {
  readonly rest: string;
  readonly id: string;
  /** Null when MLflow does not have it. */
  readonly run: IRun | null;
}

interface IWatched {
  readonly api: MlflowApi;
  /** Run id to how many look. */
  readonly seen: Map<string, number>;
  /** Of those: to be asked for whatever is known of them. */
  readonly due: Set<string>;
  /** Of those: what was last heard; null for one that MLflow does not have. */
  readonly runs: Map<string, IRun | null>;
  problem: AirError | null;
}

/** Whether a run may still change by itself. */
export function isOpen(run: IRun): boolean {
  return !run.deleted && (run.status === 'RUNNING' || run.status === 'SCHEDULED');
}

export class LiveRuns {
  constructor(makeApi: (rest: string) => MlflowApi) {
    this._makeApi = makeApi;
    this._poll = new Poll<void, AirError>({
      name: 'jupyter-air:live-runs',
      auto: false,
      factory: () => this._ask(),
      frequency: { interval: INTERVAL_MS, backoff: true, max: MAX_BACKOFF_MS },
      standby: () => document.hidden || !this._isWorthAsking()
    });
  }

  /** A run has changed, or was heard of for the first time. */
  get news(): ISignal<this, INews> {
    return this._news;
  }

  /** The way to MLflow was lost, or is there again; the argument is its address. */
  get problemChanged(): ISignal<this, string> {
    return this._problemChanged;
  }

  /** What is known of a run that is watched: undefined before the first answer, null when MLflow does not have it. */
  known(rest: string, id: string): IRun | null | undefined {
    return this._at.get(rest)?.runs.get(id);
  }

  /** Why MLflow did not answer the last time; null when it did. */
  problem(rest: string): AirError | null {
    return this._at.get(rest)?.problem ?? null;
  }

  /**
   * Follows a run as long as somebody sees it: asked at once where nothing is known of it, then while it is open.
   *
   * @param known What the caller was told of it a moment ago.
   * @throws AirError when the address is not one of this Jupyter server.
   */
  watch(rest: string, id: string, known?: IRun): IDisposable {
    const at = this._place(rest);
    at.seen.set(id, (at.seen.get(id) ?? 0) + 1);
    if (known && !at.runs.has(id)) {
      at.runs.set(id, known);
    }
    if (at.runs.has(id)) {
      void this._poll.start();
    } else {
      at.due.add(id);
      void this._poll.refresh();
    }
    return new DisposableDelegate(() => {
      const left = (at.seen.get(id) ?? 1) - 1;
      if (left > 0) {
        at.seen.set(id, left);
      } else {
        at.seen.delete(id);
        at.due.delete(id);
        at.runs.delete(id);
      }
    });
  }

  /** Asks again for a run that is watched: something newer was heard of it elsewhere. */
  again(rest: string, id: string): void {
    const at = this._at.get(rest);
    if (at?.seen.has(id)) {
      at.due.add(id);
      void this._poll.refresh();
    }
  }

  /** Tells what somebody else was told of runs, such as a page of them. */
  tell(rest: string, runs: readonly IRun[]): void {
    const at = this._place(rest);
    for (const run of runs) {
      this._hear(rest, at, run.id, run);
    }
  }

  /** Asks now, since something was done to a run. */
  async refresh(rest: string, id: string): Promise<IRun> {
    const run = await this._place(rest).api.run(id);
    this.tell(rest, [run]);
    return run;
  }

  dispose(): void {
    this._poll.dispose();
    Signal.clearData(this);
  }

  private _place(rest: string): IWatched {
    let at = this._at.get(rest);
    if (!at) {
      at = { api: this._makeApi(rest), seen: new Map(), due: new Set(), runs: new Map(), problem: null };
      this._at.set(rest, at);
    }
    return at;
  }

  private _wanted(at: IWatched): string[] {
    return [...at.seen.keys()].filter(id => {
      const run = at.runs.get(id);
      return at.due.has(id) || (run ? isOpen(run) : false);
    });
  }

  private _isWorthAsking(): boolean {
    return [...this._at.values()].some(at => this._wanted(at).length > 0);
  }

  private async _ask(): Promise<void> {
    const places = [...this._at].filter(([, at]) => this._wanted(at).length > 0);
    const problems = await Promise.all(places.map(([rest, at]) => this._askAt(rest, at)));
    const problem = problems.find(one => one !== null);
    if (problem) {
      throw problem;
    }
  }

  private async _askAt(rest: string, at: IWatched): Promise<AirError | null> {
    let problem: AirError | null = null;
    try {
      const ids = this._wanted(at);
      // A run's experiment is known once the run was seen; from then on they are asked for together.
      const due = ids.filter(id => at.due.has(id)).slice(0, MOST_RUNS);
      const open = ids
        .filter(id => !at.due.has(id) && RUN_ID.test(id))
        .flatMap(id => at.runs.get(id) ?? [])
        .slice(0, MOST_RUNS);
      await Promise.all([...due.map(id => this._askForOne(rest, at, id)), this._askForAll(rest, at, open)]);
    } catch (reason) {
      problem = reason instanceof AirError ? reason : new AirError('unknown', String(reason));
    }
    if (problem?.message !== at.problem?.message) {
      at.problem = problem;
      this._problemChanged.emit(rest);
    }
    return problem;
  }

  private async _askForOne(rest: string, at: IWatched, id: string): Promise<void> {
    let run: IRun | null = null;
    try {
      run = await at.api.run(id);
    } catch (reason) {
      if (!(reason instanceof AirError && MISSING.includes(reason.code))) {
        throw reason;
      }
    }
    this._hear(rest, at, id, run);
  }

  private async _askForAll(rest: string, at: IWatched, runs: readonly IRun[]): Promise<void> {
    if (runs.length === 0) {
      return;
    }
    const page = await at.api.runs({
      experimentIds: [...new Set(runs.map(run => run.experimentId))],
      filter: `attributes.run_id IN (${runs.map(run => `'${run.id}'`).join(', ')})`,
      view: 'ALL',
      limit: MOST_RUNS
    });
    const found = new Map(page.items.map(run => [run.id, run]));
    // What has become due meanwhile is newer than this answer.
    for (const { id } of runs.filter(run => !at.due.has(run.id))) {
      this._hear(rest, at, id, found.get(id) ?? null);
    }
  }

  private _hear(rest: string, at: IWatched, id: string, run: IRun | null): void {
    if (at.seen.has(id)) {
      at.due.delete(id);
      at.runs.set(id, run);
    }
    this._news.emit({ rest, id, run });
  }

  private readonly _at = new Map<string, IWatched>();
  private readonly _makeApi: (rest: string) => MlflowApi;
  private readonly _news = new Signal<this, INews>(this);
  private readonly _problemChanged = new Signal<this, string>(this);
  private readonly _poll: Poll<void, AirError>;
}
