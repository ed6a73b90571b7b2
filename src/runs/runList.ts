/** The runs of one question, page by page: as MLflow sorted them, with the parents that their tree needs. */
import { ISignal, Signal } from '@lumino/signaling';
import { AirError } from '../api';
import { orderBy, ISort, quotedName, SeenNames } from './columns';
import { allOf, equals } from './filter';
import type { LiveRuns } from './live';
import type { IPage, IRun, IRunsQuestion, MlflowApi } from './mlflow';
import { missingParents, PARENT_TAG } from './tree';

/** As many as MLflow's own page asks for. */
export const PAGE = 100;
/** A tree of this depth is asked for upwards; what is above stays unknown. */
const MAX_LEVELS = 4;

export interface IRunListQuestion {
  readonly experimentId: string;
  /** In MLflow's language. */
  readonly filter: string;
  readonly sort: ISort;
  /** The deleted ones in place of the others. */
  readonly deleted: boolean;
}

export class RunList {
  constructor(
    readonly question: IRunListQuestion,
    private readonly _api: MlflowApi,
    private readonly _live: LiveRuns
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** In the order of MLflow; replaced when it changes. */
  get order(): readonly IRun[] {
    return this._order;
  }

  /** These and the parents asked for besides. */
  get known(): ReadonlyMap<string, IRun> {
    return this._known;
  }

  get seen(): SeenNames {
    return this._seen;
  }

  /** Whether MLflow has more than these. */
  get hasMore(): boolean {
    return this._nextToken !== null;
  }

  /** Whether a page is on its way. */
  get isAsking(): boolean {
    return this._more !== null;
  }

  /** Why the last page did not come; null when it did, or once MLflow has answered again. */
  get moreProblem(): AirError | null {
    return this._moreProblem;
  }

  /** Asks for the first page: for the first time, or for what has changed in it. */
  refresh(): Promise<void> {
    return this._inTurn(() => this._refresh());
  }

  /** Asks for the next page; one at a time. `moreProblem` says when it did not come. */
  more(): Promise<void> {
    if (this._more === null && this._nextToken !== null) {
      this._moreProblem = null;
      this._more = this._inTurn(() => this._askForMore())
        .catch((reason: unknown) => {
          this._moreProblem = reason instanceof AirError ? reason : new AirError('unknown', String(reason));
        })
        .finally(() => {
          this._more = null;
          this._changed.emit();
        });
      this._changed.emit();
    }
    return this._more ?? Promise.resolve();
  }

  /** Asks for the children of a run that are not here yet; sorted as the rest. */
  children(id: string): Promise<void> {
    return this._inTurn(() => this._askForChildren(id));
  }

  /** Hears of a run from somebody else; tells whether it is one of these. */
  hear(run: IRun): boolean {
    if (this._isTelling) {
      return true;
    }
    const known = this._known.get(run.id);
    if (known === undefined) {
      return false;
    }
    if (kept(known, run) === known) {
      return true;
    }
    if (run.deleted !== this.question.deleted) {
      this._known = new Map([...this._known].filter(([id]) => id !== run.id));
      this._parents.delete(run.id);
      this._order = this._order.filter(one => one.id !== run.id);
      this._nextToken = this._nextToken === null ? null : this._lastToken;
    } else {
      this._known = new Map(this._known).set(run.id, run);
      this._order = this._order.map(one => (one.id === run.id ? run : one));
      if (this._parents.has(run.id)) {
        this._parents.set(run.id, run);
      }
      this._seen.meet(run);
    }
    this._changed.emit();
    return true;
  }

  dispose(): void {
    Signal.clearData(this);
  }

  private _question(): IRunsQuestion {
    const { experimentId, filter, sort, deleted } = this.question;
    return {
      experimentIds: [experimentId],
      filter,
      orderBy: orderBy(sort),
      view: deleted ? 'DELETED_ONLY' : 'ACTIVE_ONLY',
      limit: PAGE
    };
  }

  private _page(pageToken: string): Promise<IPage<IRun>> {
    return this._api.runs({ ...this._question(), pageToken });
  }

  private async _refresh(): Promise<void> {
    const page = await this._page('');
    this._moreProblem = null;
    const first = new Set(page.items.map(run => run.id));
    const gone = this._first.filter(id => !first.has(id) && this._known.has(id));
    const isWhole = page.nextPageToken === null;
    const rest = isWhole ? [] : await this._stillHere(gone);
    const lost = new Set(gone.filter(id => !rest.some(run => run.id === id)));
    const later = isWhole ? [] : this._order.filter(run => !first.has(run.id) && !lost.has(run.id));
    this._first = [...first];
    if (isWhole || this._lastToken === '') {
      this._lastToken = '';
      this._nextToken = page.nextPageToken;
    } else if (lost.size > 0) {
      // What follows has moved up: the last page is asked for again before the next.
      this._nextToken = this._lastToken;
    }
    await this._take(
      [...page.items, ...later.map(run => rest.find(one => one.id === run.id) ?? run)],
      [...page.items, ...rest]
    );
  }

  private async _askForMore(): Promise<void> {
    const token = this._nextToken;
    if (token === null) {
      return;
    }
    const page = await this._page(token);
    this._lastToken = token;
    this._nextToken = page.nextPageToken;
    const known = new Set(this._order.map(run => run.id));
    await this._take([...this._order, ...page.items.filter(run => !known.has(run.id))], page.items);
  }

  private async _askForChildren(id: string): Promise<void> {
    const { filter, ...question } = this._question();
    const page = await this._api.runs({
      ...question,
      filter: allOf(filter ?? '', equals(quotedName('tags.', PARENT_TAG), id))
    });
    const unknown = page.items.filter(run => !this._known.has(run.id));
    if (unknown.length > 0) {
      await this._take([...this._order, ...unknown], page.items);
    }
  }

  /** Those of these runs that the question still finds, although the first page has them no more. */
  private async _stillHere(ids: readonly string[]): Promise<readonly IRun[]> {
    if (ids.length === 0) {
      return [];
    }
    const { filter, ...question } = this._question();
    const page = await this._api.runs({ ...question, filter: allOf(filter ?? '', among(ids)) });
    return page.items;
  }

  /** Takes a new order, once the parents that it lacks were asked for. */
  private async _take(heard: readonly IRun[], news: readonly IRun[]): Promise<void> {
    // What has not changed stays the same object: thousands of rows need not be looked at again.
    const order = heard.map(run => {
      const known = this._known.get(run.id);
      return known === run ? run : kept(known, run);
    });
    const known = new Map(order.map(run => [run.id, run]));
    for (const parent of this._parents.values()) {
      if (!known.has(parent.id)) {
        known.set(parent.id, parent);
      }
    }
    for (let level = 0; level < MAX_LEVELS; level++) {
      const missing = missingParents(known)
        .filter(id => !this._absent.has(id))
        .slice(0, PAGE);
      if (missing.length === 0) {
        break;
      }
      const page = await this._api.runs({
        ...this._question(),
        filter: among(missing)
      });
      for (const run of page.items) {
        this._parents.set(run.id, run);
        known.set(run.id, run);
      }
      missing.filter(id => !known.has(id)).forEach(id => this._absent.add(id));
    }
    this._seen.add([...known.values()].filter(run => !this._known.has(run.id)));
    news.forEach(run => this._seen.meet(run));
    if (!isSameList(order, this._order) || !isSameList([...known.values()], [...this._known.values()])) {
      this._order = order;
      this._known = known;
    }
    this._isTelling = true;
    try {
      this._live.tell(this._api.rest, news);
    } finally {
      this._isTelling = false;
    }
    this._changed.emit();
  }

  /** One question after the other: each builds on what the one before has found. */
  private _inTurn(act: () => Promise<void>): Promise<void> {
    const turn = this._turn.then(act);
    this._turn = turn.catch(() => undefined);
    return turn;
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _parents = new Map<string, IRun>();
  /** Parents that MLflow does not have, or not in this experiment. */
  private readonly _absent = new Set<string>();
  private _order: readonly IRun[] = [];
  private _known: ReadonlyMap<string, IRun> = new Map();
  private readonly _seen = new SeenNames();
  private _first: readonly string[] = [];
  /** Of the last page that is here, and of the one after it. */
  private _lastToken = '';
  private _nextToken: string | null = null;
  private _more: Promise<void> | null = null;
  private _moreProblem: AirError | null = null;
  private _turn: Promise<void> = Promise.resolve();
  private _isTelling = false;
}

function isSameMap<T>(one: ReadonlyMap<string, T>, other: ReadonlyMap<string, T>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => Object.is(other.get(key), value));
}

/** The run as it was known, if it is still so. */
function kept(known: IRun | undefined, run: IRun): IRun {
  const isSame =
    known?.name === run.name &&
    known.status === run.status &&
    known.startMs === run.startMs &&
    known.endMs === run.endMs &&
    known.deleted === run.deleted &&
    isSameMap(known.metrics, run.metrics) &&
    isSameMap(known.params, run.params) &&
    isSameMap(known.tags, run.tags);
  return isSame ? known : run;
}

function isSameList(one: readonly IRun[], other: readonly IRun[]): boolean {
  return one.length === other.length && one.every((run, i) => run === other[i]);
}

function among(ids: readonly string[]): string {
  return `attributes.run_id IN (${ids.map(id => `'${id.replace(/[^\w-]/g, '')}'`).join(', ')})`;
}
