/** Where the runs of the notebook in front are: its store, the way there, its experiments. */
import { ISignal, Signal } from '@lumino/signaling';
import { AirError } from '../api';
import type { ContextApi, INotebookPlace, IRunsContext } from './context';
import { INotebookExperiments, otherExperiments, ownExperiment } from './experiments';
import type { IPages } from './links';
import type { IExperiment, MlflowApi } from './mlflow';
import type { TrackingModel } from './model';

export const NO_NOTEBOOK: INotebookPlace = { kernelId: null, path: null };

export interface IWays {
  readonly context: Pick<ContextApi, 'of'>;
  mlflow(rest: string): MlflowApi;
  /** The tracking server of a place, to be waited for; null where there is none to wait for. */
  tracking(context: IRunsContext): TrackingModel | null;
}

/** Whether something else is wanted by now than when a question began. */
export type IsStale = () => boolean;

export class Whereabouts {
  constructor(private readonly _ways: IWays) {}

  /** Something is known; or the tracking server has come further. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The tracking server is there now: whoever wanted something asks again. */
  get ready(): ISignal<this, void> {
    return this._ready;
  }

  get place(): INotebookPlace {
    return this._place;
  }

  /** Null until the server has told. */
  get context(): IRunsContext | null {
    return this._context;
  }

  /** The tracking server while it is waited for. */
  get tracking(): TrackingModel | null {
    return this._tracking;
  }

  /** Null until they are known. */
  get experiments(): INotebookExperiments | null {
    return this._experiments;
  }

  /** MLflow of these runs; null where it cannot be asked. */
  get api(): MlflowApi | null {
    return this._api;
  }

  get pages(): IPages | null {
    const { pages, kind } = this._context ?? { pages: null, kind: 'none' };
    return pages === null ? null : { base: pages, databricks: kind === 'databricks' };
  }

  /** Another notebook is in front, or another kernel of it; tells whether it is another notebook. */
  move(place: INotebookPlace): boolean {
    const isOther = place.path !== this._place.path;
    this._place = place;
    this.forget();
    if (isOther) {
      this._experiments = null;
    }
    return isOther;
  }

  /** Shows another experiment of the notebook; null goes back to its own. */
  choose(experiment: IExperiment | null): void {
    if (experiment === null) {
      this._chosen.delete(this._place.path);
    } else {
      this._chosen.set(this._place.path, experiment);
    }
  }

  /** What the server said may have changed. */
  forget(): void {
    this._isOld = true;
    this._othersAreOld = true;
    this._stopWaiting();
  }

  /** The tracking server may have ended since nobody looked. */
  doubt(): void {
    this._isThere = false;
  }

  /** A cell has ended: its runs may have gone elsewhere. */
  forgetOthers(): void {
    this._othersAreOld = true;
  }

  /**
   * Finds the way, a step after the other; gives up as soon as something else is wanted.
   *
   * @returns Null while there is none: `context` or `tracking` says why.
   */
  async find(isStale: IsStale): Promise<MlflowApi | null> {
    if (this._context === null || this._isOld || this._context.rest === null) {
      const { context, isCertain } = await this._askForContext();
      if (isStale()) {
        return null;
      }
      this._isOld = !isCertain;
      this._context = context;
    }
    const { rest } = this._context;
    if (rest === null) {
      this._api = null;
      return null;
    }
    if (this._api?.rest !== rest) {
      this._api = this._ways.mlflow(rest);
      this._isThere = false;
      this._experiments = null;
    }
    return (await this._wait(this._context)) ? this._api : null;
  }

  /** The experiment to show; null when the notebook has none. */
  async experiment(api: MlflowApi, isStale: IsStale): Promise<IExperiment | null> {
    const chosen = this._chosen.get(this._place.path);
    if (chosen || this._context === null || this._place.path === null) {
      return chosen ?? null;
    }
    const own = this._experiments?.own ?? (await ownExperiment(api, this._context));
    let others = this._experiments?.others ?? [];
    if (own === null && (others.length === 0 || this._othersAreOld)) {
      others = await otherExperiments(api, this._context, this._place);
    }
    if (!isStale()) {
      this._experiments = { own, others };
    }
    return own ?? others.at(0) ?? null;
  }

  /** Where else its runs went, if that may have changed. */
  async others(api: MlflowApi, isStale: IsStale): Promise<void> {
    if (!this._othersAreOld || this._context === null) {
      return;
    }
    const others = await otherExperiments(api, this._context, this._place);
    if (!isStale()) {
      this._othersAreOld = false;
      this._experiments = { own: this._experiments?.own ?? null, others };
    }
  }

  dispose(): void {
    this._stopWaiting();
    Signal.clearData(this);
  }

  private async _askForContext(): Promise<{ context: IRunsContext; isCertain: boolean }> {
    try {
      return { context: await this._ways.context.of(this._place), isCertain: true };
    } catch (reason) {
      const { kernelId, path } = this._place;
      const isInBetween = reason instanceof AirError && (reason.status === 404 || reason.status === 503);
      if (!isInBetween || kernelId === null || path === null) {
        throw reason;
      }
      // A kernel that has just ended or is about to begin: the notebook is there, and the kernel is asked for again.
      return { context: await this._ways.context.of({ kernelId: null, path }), isCertain: false };
    }
  }

  /** Whether the tracking server is there; where not, it is being started, and `ready` tells. */
  private async _wait(context: IRunsContext): Promise<boolean> {
    if (this._isThere) {
      return true;
    }
    if (this._tracking === null) {
      this._tracking = this._ways.tracking(context);
      this._tracking?.changed.connect(this._follow, this);
      await this._tracking?.start().catch(() => undefined);
    }
    const state = this._tracking?.tracking?.state ?? null;
    this._isThere = this._tracking === null || state === 'ready';
    if (this._isThere) {
      this._stopWaiting();
    }
    return this._isThere;
  }

  private _follow(model: TrackingModel): void {
    this._changed.emit();
    if (model.tracking?.state === 'ready') {
      this._ready.emit();
    }
  }

  private _stopWaiting(): void {
    this._tracking?.dispose();
    this._tracking = null;
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _ready = new Signal<this, void>(this);
  /** What a person chose for a notebook, by its path. */
  private readonly _chosen = new Map<string | null, IExperiment>();
  private _place: INotebookPlace = NO_NOTEBOOK;
  private _context: IRunsContext | null = null;
  private _isOld = true;
  private _api: MlflowApi | null = null;
  private _isThere = false;
  private _tracking: TrackingModel | null = null;
  private _experiments: INotebookExperiments | null = null;
  private _othersAreOld = true;
}
