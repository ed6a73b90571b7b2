/** The panel's state: the runs of an experiment as a person wants to see them; asked for while somebody looks. */
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { AirError } from '../api';
import { IColumn, nextSort, SeenNames, SortKey } from './columns';
import type { INotebookPlace } from './context';
import { findExperiments } from './experiments';
import { isRefused } from './filter';
import { InView } from './inView';
import { INews, LiveRuns } from './live';
import type { IExperiment, IRun, MlflowApi } from './mlflow';
import { RunList } from './runList';
import { Folding } from './tree';
import { IView, PLAIN_VIEW, questionOf } from './view';
import { IsStale, IWays, NO_NOTEBOOK, Whereabouts } from './whereabouts';

const INTERVAL_MS = 10_000;
/** A cell at work may begin a run at any moment. */
const BUSY_INTERVAL_MS = 3000;
const MAX_BACKOFF_MS = 60_000;
/** After so long it is said that MLflow was asked. */
const SLOW_MS = 1000;

export interface IExperimentOptions extends IWays {
  readonly live: LiveRuns;
}

const NOTHING_SEEN = new SeenNames();

export class ExperimentModel {
  constructor(options: IExperimentOptions) {
    this._live = options.live;
    this._inView = new InView(options.live);
    this.where = new Whereabouts(options);
    this.where.changed.connect(this._emit, this);
    this.where.ready.connect(() => void this._ask(), this);
    this._poll = new Poll<void, AirError>({
      name: 'jupyter-air:experiment',
      auto: false,
      factory: () => (this._asking ??= this._answer().finally(() => (this._asking = null))),
      frequency: { interval: INTERVAL_MS, backoff: true, max: MAX_BACKOFF_MS },
      standby: () => !this._isActive || document.hidden
    });
    this._live.news.connect(this._hear, this);
  }

  readonly where: Whereabouts;

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The one that is shown; null when the notebook has none, or none is known yet. */
  get experiment(): IExperiment | null {
    return this._experiment;
  }

  /** Its runs; null until the first answer. */
  get list(): RunList | null {
    return this._list;
  }

  /** What the person asks for, which the list follows. */
  get view(): IView {
    return this._view;
  }

  /** Why the last question failed; null when it did not. */
  get problem(): AirError | null {
    return this._problem;
  }

  /** Why MLflow does not take the filter; null when it does. */
  get refused(): AirError | null {
    return this._refused;
  }

  /** When the list was last known to be right; milliseconds since the epoch. */
  get heardMs(): number | null {
    return this._heardMs;
  }

  /** Whether an answer takes long. */
  get isSlow(): boolean {
    return this._isSlow;
  }

  /** Whether what the person asked for last is still on its way. */
  get isAsking(): boolean {
    return this._asked !== this._wanted;
  }

  /** How many runs there are without a search; null where MLflow has not said. */
  get total(): number | null {
    return this._total;
  }

  get folding(): Folding {
    return this._folding;
  }

  get seen(): SeenNames {
    return this._list?.seen ?? NOTHING_SEEN;
  }

  /** The columns that an experiment begins with: kept, so that they do not change under the reader. */
  get defaultColumns(): readonly IColumn[] {
    const found = this._defaultColumns.length === 0 ? this.seen.defaults : [];
    if (found.length > 0) {
      this._defaultColumns = found;
    }
    return this._defaultColumns;
  }

  /** Whether somebody sees it: nothing is asked while nobody does. */
  set isActive(active: boolean) {
    if (active !== this._isActive) {
      this._isActive = active;
      this.look(this._looked);
      if (active) {
        this.where.doubt();
        void this._ask();
      }
    }
  }

  /** The browser's tab is in front again. */
  wake(): void {
    if (this._isActive && !document.hidden) {
      void this._ask();
    }
  }

  /** Follows another notebook, or none. */
  show(place: INotebookPlace | null): void {
    const next = place ?? NO_NOTEBOOK;
    const { kernelId, path } = this.where.place;
    if (next.kernelId === kernelId && next.path === path) {
      return;
    }
    if (this.where.move(next)) {
      this._view = PLAIN_VIEW;
      this._setExperiment(null);
    }
    void this._ask();
  }

  /** Shows another experiment of the same notebook; null goes back to the notebook's own. */
  choose(experiment: IExperiment | null): void {
    this.where.choose(experiment);
    this._view = PLAIN_VIEW;
    this._setExperiment(experiment);
    void this._ask();
  }

  search(text: string): void {
    this._setView({ search: text });
  }

  sort(by: SortKey): void {
    this._setView({ sort: nextSort(this._view.sort, by) });
  }

  showDeleted(deleted: boolean): void {
    this._total = null;
    this._setView({ deleted });
  }

  /** Asks for everything again, now. */
  refresh(): Promise<void> {
    this.where.forget();
    return this._ask();
  }

  /** A cell of a notebook has begun (`busy`) or has ended: its runs are news. */
  cellRan(path: string, busy: boolean): void {
    if (path !== this.where.place.path) {
      return;
    }
    this._poll.frequency = { ...this._poll.frequency, interval: busy ? BUSY_INTERVAL_MS : INTERVAL_MS };
    if (!busy) {
      this.where.forgetOthers();
    }
    void this._ask();
  }

  /** Says which runs are in view. */
  look(runs: readonly IRun[]): void {
    this._looked = runs;
    this._inView.show(this.where.api?.rest ?? '', this._isActive ? runs : []);
  }

  /** Experiments by name. */
  async find(words: string): Promise<readonly IExperiment[]> {
    const { api } = this.where;
    return api === null ? [] : findExperiments(api, words);
  }

  /** Something was done to a run: all who show it are told. */
  async tell(id: string): Promise<void> {
    const { api } = this.where;
    if (api !== null) {
      await this._live.refresh(api.rest, id);
    }
  }

  dispose(): void {
    this._live.news.disconnect(this._hear, this);
    this.isActive = false;
    this._poll.dispose();
    this.where.dispose();
    this._list?.dispose();
    Signal.clearData(this);
  }

  private _setView(view: Partial<IView>): void {
    this._view = { ...this._view, ...view };
    this._refused = null;
    void this._ask();
  }

  private _setExperiment(experiment: IExperiment | null): void {
    if (experiment?.id !== this._experiment?.id) {
      this._total = null;
      this._defaultColumns = [];
      this._folding = new Folding();
      this._heardOf.clear();
      this._setList(null);
    }
    this._experiment = experiment;
  }

  private _setList(list: RunList | null): void {
    if (this._list !== list) {
      this._list?.dispose();
      this._list = list;
      this.look([]);
      list?.changed.connect(this._emit, this);
    }
  }

  /** Asks at once; a question that is under way is followed by one for what is wanted now. */
  private _ask(): Promise<void> {
    this._wanted++;
    this._emit();
    return this._isActive ? this._poll.refresh() : Promise.resolve();
  }

  private async _answer(): Promise<void> {
    const slow = setTimeout(() => {
      this._isSlow = true;
      this._emit();
    }, SLOW_MS);
    try {
      do {
        const wanted = this._wanted;
        await this._askFor(() => wanted !== this._wanted || this._poll.isDisposed);
        this._asked = wanted;
      } while (this._asked !== this._wanted && !this._poll.isDisposed);
      this._problem = null;
    } catch (reason) {
      this._asked = this._wanted;
      this._problem = reason instanceof AirError ? reason : new AirError('unknown', String(reason));
      throw this._problem;
    } finally {
      clearTimeout(slow);
      this._isSlow = false;
      this._emit();
    }
  }

  /** Finds out all that is not known; gives up as soon as something else is wanted. */
  private async _askFor(isStale: IsStale): Promise<void> {
    const api = await this.where.find(isStale);
    if (isStale()) {
      return;
    }
    if (api === null) {
      if (this.where.context?.rest === null) {
        this._setExperiment(null);
      }
      return;
    }
    const experiment = await this.where.experiment(api, isStale);
    if (isStale()) {
      return;
    }
    this._setExperiment(experiment);
    if (experiment !== null) {
      await this._askForRuns(api, experiment, isStale);
    }
    if (!isStale()) {
      this._heardMs = Date.now();
      this._emit();
      await this.where.others(api, isStale);
    }
  }

  private async _askForRuns(api: MlflowApi, experiment: IExperiment, isStale: IsStale): Promise<void> {
    const question = questionOf(this._view, experiment.id);
    const known = this._list;
    const isSame = known !== null && JSON.stringify(known.question) === JSON.stringify(question);
    const list = isSame ? known : new RunList(question, api, this._live);
    this._filling = list;
    try {
      await list.refresh();
    } catch (reason) {
      if (!(reason instanceof AirError && question.filter !== '' && isRefused(reason))) {
        throw reason;
      }
      this._refused = isStale() ? this._refused : reason;
      return;
    }
    if (isStale()) {
      return;
    }
    this._refused = null;
    this._folding.unfoldsAll = question.filter !== '' || question.sort.by !== 'start';
    this._setList(list);
    if (question.filter === '') {
      this._total = list.hasMore ? null : list.order.length;
    }
  }

  private _hear(_: LiveRuns, { rest, run }: INews): void {
    const list = this._list;
    // What a list that is being filled tells of itself is no news.
    if (rest !== this.where.api?.rest || run === null || list?.hear(run) || this._filling?.hear(run)) {
      return;
    }
    const isNew = (list === null || run.experimentId === list.question.experimentId) && !run.deleted;
    if (isNew && this._isActive && !this._heardOf.has(run.id)) {
      this._heardOf.add(run.id);
      void this._ask();
    }
  }

  private _emit(): void {
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _live: LiveRuns;
  private readonly _inView: InView;
  private readonly _poll: Poll<void, AirError>;
  /** Runs that others have told of: asked for once, since a search may leave them out. */
  private readonly _heardOf = new Set<string>();
  private _isActive = false;
  private _experiment: IExperiment | null = null;
  private _view = PLAIN_VIEW;
  private _list: RunList | null = null;
  private _filling: RunList | null = null;
  private _folding = new Folding();
  private _defaultColumns: readonly IColumn[] = [];
  private _looked: readonly IRun[] = [];
  private _problem: AirError | null = null;
  private _refused: AirError | null = null;
  private _total: number | null = null;
  private _heardMs: number | null = null;
  private _isSlow = false;
  private _asking: Promise<void> | null = null;
  private _wanted = 0;
  private _asked = 0;
}
