/** Which runs of the list a person has chosen, as lists of files have it. */
import { ISignal, Signal } from '@lumino/signaling';

export class Selection {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Replaced when it changes. */
  get ids(): ReadonlySet<string> {
    return this._ids;
  }

  /** The row that keys act on. */
  get active(): string | null {
    return this._active;
  }

  /** Chooses this one alone. */
  only(id: string): void {
    this._anchor = id;
    this._set(id, [id]);
  }

  /** Moves without choosing. */
  move(id: string): void {
    this._set(id, this._ids);
  }

  toggle(id: string): void {
    this._anchor = id;
    const ids = new Set(this._ids);
    if (!ids.delete(id)) {
      ids.add(id);
    }
    this._set(id, ids);
  }

  /** Chooses all from the one chosen last by itself to this one, in the order of the rows. */
  extend(id: string, order: readonly string[]): void {
    const from = order.indexOf(this._anchor ?? id);
    const to = order.indexOf(id);
    const [first, last] = from <= to ? [Math.max(from, 0), to] : [to, from];
    this._set(id, order.slice(first, last + 1));
  }

  all(order: readonly string[]): void {
    this._set(this._active ?? order.at(0) ?? null, order);
  }

  clear(): void {
    this._anchor = null;
    this._set(this._active, []);
  }

  private _set(active: string | null, ids: Iterable<string>): void {
    this._active = active;
    this._ids = new Set(ids);
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _ids: ReadonlySet<string> = new Set();
  private _active: string | null = null;
  private _anchor: string | null = null;
}
