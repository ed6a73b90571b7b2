/** What a person has chosen to see of runs; where it is kept is the plugin's affair. */
import { ISignal, Signal } from '@lumino/signaling';
import { columnName, columnOf, IColumn } from './columns';

/** Of so many experiments the columns are kept, the ones chosen last. */
const MOST_EXPERIMENTS = 50;
const MOST_COLUMNS = 30;

type Chosen = Record<string, string[]>;

/** Fills in what is missing or not usable, so that a hand-edited file breaks nothing. */
export function readColumns(value: unknown): Chosen {
  if (typeof value !== 'object' || value === null) {
    return {};
  }
  const usable = Object.entries(value).filter((entry): entry is [string, string[]] =>
    Array.isArray(entry[1])
  );
  return Object.fromEntries(
    usable.map(([experiment, names]) => [
      experiment,
      names.filter(name => typeof name === 'string' && columnOf(name) !== null).slice(0, MOST_COLUMNS)
    ])
  );
}

/** The columns of each experiment. A change shows at once and is then kept, if there is somebody to keep it. */
export class ColumnSettings {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Grows with each change. */
  get revision(): number {
    return this._revision;
  }

  /** Null where nobody has chosen. */
  of(experiment: string): readonly IColumn[] | null {
    return Object.hasOwn(this._chosen, experiment)
      ? this._chosen[experiment].flatMap(name => columnOf(name) ?? [])
      : null;
  }

  /** Null goes back to what is shown without a choice. */
  choose(experiment: string, columns: readonly IColumn[] | null): void {
    const others = Object.entries(this._chosen).filter(([name]) => name !== experiment);
    const own = columns && [
      [experiment, columns.slice(0, MOST_COLUMNS).map(columnName)] as [string, string[]]
    ];
    const chosen = Object.fromEntries([...others, ...(own ?? [])].slice(-MOST_EXPERIMENTS));
    this.replace(chosen);
    this._keep?.(chosen).catch((reason: unknown) => console.warn('The columns were not kept.', reason));
  }

  /** What the place where they are kept says now. */
  replace(chosen: Chosen): void {
    this._chosen = chosen;
    this._revision++;
    this._changed.emit();
  }

  /** From now on changes are kept by this function. */
  keepBy(keep: (chosen: Chosen) => Promise<void>): void {
    this._keep = keep;
  }

  private _chosen: Chosen = {};
  private _revision = 0;
  private _keep: ((chosen: Chosen) => Promise<void>) | null = null;
  private readonly _changed = new Signal<this, void>(this);
}
