/** The columns of the list: which there are, which are shown, and how the list is sorted by them. */
import type { IRun } from './mlflow';

export type ColumnKind = 'metric' | 'param';

export interface IColumn {
  readonly kind: ColumnKind;
  readonly key: string;
}

export type SortKey = 'name' | 'start' | IColumn;

export interface ISort {
  readonly by: SortKey;
  readonly descending: boolean;
}

export const NEWEST_FIRST: ISort = { by: 'start', descending: true };

const PREFIX: Readonly<Record<ColumnKind, string>> = { metric: 'metrics.', param: 'params.' };
const SYSTEM = 'system/';
/** What people look at first when they do not say. */
const TELLING = /loss|acc|f1|auc|rmse|mae|perplexity|reward|score|bleu|map/i;
/** Of these the least is the best. */
const LESS_IS_MORE = /loss|err|rmse|mae|mse|perplexity|wer|latency|_ms$|_s$|time/i;
export const DEFAULT_COLUMNS = 2;

/** `metrics.loss`, as MLflow's filters and our settings have it. */
export function columnName({ kind, key }: IColumn): string {
  return PREFIX[kind] + key;
}

/** The column of such a name; null for any other text. */
export function columnOf(name: string): IColumn | null {
  const kind = (Object.keys(PREFIX) as ColumnKind[]).find(one => name.startsWith(PREFIX[one]));
  return kind && name.length > PREFIX[kind].length ? { kind, key: name.slice(PREFIX[kind].length) } : null;
}

export function isSame(a: SortKey, b: SortKey): boolean {
  return typeof a === 'string' || typeof b === 'string' ? a === b : a.kind === b.kind && a.key === b.key;
}

/** MLflow's parser takes these for words of SQL, even behind a point. */
const SQL_WORD = /^(as|case|from|in|using|values)$/i;

/** A name in MLflow's languages of filters and orders, where most letters need quotes. */
export function quotedName(prefix: string, key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) && !SQL_WORD.test(key)
    ? prefix + key
    : `${prefix}\`${key.replace(/`/g, '')}\``;
}

/** As `runs/search` takes it. Of runs that are equal the newest is first. */
export function orderBy({ by, descending }: ISort): string[] {
  const direction = descending ? 'DESC' : 'ASC';
  if (by === 'start') {
    return [`attributes.start_time ${direction}`];
  }
  const name = by === 'name' ? 'attributes.run_name' : quotedName(PREFIX[by.kind], by.key);
  return [`${name} ${direction}`, 'attributes.start_time DESC'];
}

/** What a click on a column's name asks for: the best first, then the other way, then the newest first again. */
export function nextSort(current: ISort, by: SortKey): ISort {
  const descendingFirst =
    by === 'start' || (by !== 'name' && !(by.kind === 'metric' && LESS_IS_MORE.test(by.key)));
  if (!isSame(current.by, by)) {
    return { by, descending: descendingFirst };
  }
  return current.descending === descendingFirst || by === 'start'
    ? { by, descending: !current.descending }
    : NEWEST_FIRST;
}

/** The names that runs have, with the number of runs that have each. */
export class SeenNames {
  readonly metrics = new Map<string, number>();
  readonly params = new Map<string, number>();
  readonly tags = new Map<string, number>();

  add(runs: Iterable<IRun>): void {
    for (const run of runs) {
      count(this.metrics, run.metrics.keys());
      count(this.params, run.params.keys());
      count(this.tags, run.tags.keys());
    }
  }

  /** Names that a run has got since it was counted. */
  meet(run: IRun): void {
    for (const [counts, values] of [
      [this.metrics, run.metrics],
      [this.params, run.params],
      [this.tags, run.tags]
    ] as const) {
      for (const key of values.keys()) {
        if (!counts.has(key)) {
          counts.set(key, 1);
        }
      }
    }
  }

  /** All that can be columns: own metrics, parameters, then what the system measured. */
  get columns(): readonly IColumn[] {
    const metrics = [...this.metrics.keys()].sort(byName);
    const column = (kind: ColumnKind) => (key: string) => ({ kind, key });
    return [
      ...metrics.filter(key => !key.startsWith(SYSTEM)).map(column('metric')),
      ...[...this.params.keys()].sort(byName).map(column('param')),
      ...metrics.filter(key => key.startsWith(SYSTEM)).map(column('metric'))
    ];
  }

  /** Those to begin with: the own metrics that most runs have, telling ones before others. */
  get defaults(): readonly IColumn[] {
    const weight = (key: string): number => (this.metrics.get(key) ?? 0) * (TELLING.test(key) ? 2 : 1);
    return [...this.metrics.keys()]
      .filter(key => !key.startsWith(SYSTEM))
      .sort((a, b) => weight(b) - weight(a) || a.length - b.length || byName(a, b))
      .slice(0, DEFAULT_COLUMNS)
      .map(key => ({ kind: 'metric', key }));
  }
}

function byName(a: string, b: string): number {
  return a.localeCompare(b, undefined, { numeric: true });
}

function count(counts: Map<string, number>, keys: Iterable<string>): void {
  for (const key of keys) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
}
