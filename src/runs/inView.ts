/** The runs that somebody sees: the open ones of them are followed. */
import type { IDisposable } from '@lumino/disposable';
import { isOpen, LiveRuns } from './live';
import type { IRun } from './mlflow';

export class InView {
  constructor(private readonly _live: LiveRuns) {}

  /** Follows these in place of those before. */
  show(rest: string, runs: readonly IRun[]): void {
    const open = new Map(runs.filter(isOpen).map(run => [run.id, run]));
    for (const [id, watch] of this._watches) {
      if (!open.has(id) || rest !== this._rest) {
        watch.dispose();
        this._watches.delete(id);
      }
    }
    this._rest = rest;
    for (const [id, run] of open) {
      if (!this._watches.has(id)) {
        this._watches.set(id, this._live.watch(rest, id, run));
      }
    }
  }

  private readonly _watches = new Map<string, IDisposable>();
  private _rest = '';
}
