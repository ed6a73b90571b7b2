/** When cells of notebooks ran: the bands behind the lines. Kept for two hours, across reloads. */
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { ISignal, Signal } from '@lumino/signaling';

const KEEP_MS = 2 * 3600 * 1000;
const MAX_BANDS = 400;
/** Shorter ones are not seen at two hours in 200 pixels, and there are many. */
const SHORTEST_MS = 1000;
const STATE_KEY = 'jupyter-air:gpu-bands';
const MAX_PATH = 300;

/** One execution of a cell, on the browser's clock. */
export interface IBand {
  readonly cell: string;
  readonly path: string;
  readonly startMs: number;
  /** Null while it runs. */
  readonly endMs: number | null;
  /** Known from when the kernel begins with it. */
  readonly count: number | null;
}

/** The part of JupyterLab's state database that is needed here. */
export interface IBandStore {
  fetch(id: string): Promise<unknown>;
  save(id: string, value: ReadonlyPartialJSONObject): Promise<unknown>;
}

function isBand(value: unknown): value is IBand {
  const band = value as Partial<IBand> | null;
  return (
    typeof band?.cell === 'string' &&
    typeof band.path === 'string' &&
    typeof band.startMs === 'number' &&
    typeof band.endMs === 'number' &&
    (typeof band.count === 'number' || band.count === null)
  );
}

/** The file's name alone. */
export function notebookName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export class CellBands {
  constructor(
    private readonly _store: IBandStore | null = null,
    private readonly _now: () => number = Date.now
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Those that ended, then those that run. */
  get bands(): readonly IBand[] {
    return this._bands;
  }

  /** Takes over what an earlier page kept. A cell that ran when that page was left has no known end, and is not kept. */
  async restore(): Promise<void> {
    const kept = await this._store?.fetch(STATE_KEY);
    const bands = (kept as { bands?: unknown } | undefined)?.bands;
    if (Array.isArray(bands)) {
      this._bands = [...bands.filter(isBand), ...this._bands];
      this._prune();
      this._changed.emit();
    }
  }

  /** A cell waits for its turn: its kernel runs one at a time. */
  scheduled(path: string, cell: string): void {
    const queue = this._queues.get(path) ?? [];
    this._queues.set(path, queue);
    if (!queue.includes(cell)) {
      queue.push(cell);
    }
    if (queue.length === 1) {
      this._start(path, cell);
    }
  }

  /** The kernel has begun with the cell and says which one it is. */
  counted(path: string, count: number | null): void {
    this._bands = this._bands.map(band =>
      band.endMs === null && band.path === path ? { ...band, count } : band
    );
    this._changed.emit();
  }

  /** The cell of a notebook that runs now. */
  running(path: string): IBand | null {
    return this._bands.find(band => band.endMs === null && band.path === path) ?? null;
  }

  /** A cell is done, or was dropped from the queue. The next one of its notebook begins. */
  executed(path: string, cell: string, count: number | null): void {
    const queue = this._queues.get(path) ?? [];
    const running = queue[0] === cell;
    const rest = queue.filter(one => one !== cell);
    if (rest.length) {
      this._queues.set(path, rest);
    } else {
      this._queues.delete(path);
    }
    if (!running) {
      return;
    }
    const now = this._now();
    let next: number | null = null;
    this._bands = this._bands.flatMap(band => {
      if (band.endMs !== null || band.cell !== cell || band.path !== path) {
        return [band];
      }
      // A kernel that has several cells may tell of the next before the page hears that this one is done.
      next = count !== null && band.count !== count ? band.count : null;
      return now - band.startMs < SHORTEST_MS ? [] : [{ ...band, endMs: now, count }];
    });
    if (rest.length) {
      this._start(path, rest[0], next);
    }
    this._prune();
    this._save();
    this._changed.emit();
  }

  /** The one that was running at a time; of several the shortest, which lies on top. */
  at(timeMs: number): IBand | null {
    const now = this._now();
    const length = (band: IBand): number => (band.endMs ?? now) - band.startMs;
    return this._bands
      .filter(band => band.startMs <= timeMs && timeMs <= (band.endMs ?? now))
      .reduce<IBand | null>(
        (best, band) => (best === null || length(band) < length(best) ? band : best),
        null
      );
  }

  private _start(path: string, cell: string, count: number | null = null): void {
    const band: IBand = { cell, path: path.slice(-MAX_PATH), startMs: this._now(), endMs: null, count };
    this._bands = [...this._bands, band];
    this._prune();
    this._changed.emit();
  }

  private _prune(): void {
    const oldest = this._now() - KEEP_MS;
    this._bands = this._bands.filter(band => (band.endMs ?? Infinity) >= oldest).slice(-MAX_BANDS);
  }

  private _save(): void {
    const bands = this._bands.filter(band => band.endMs !== null).map(band => ({ ...band }));
    // Nobody waits for it, and without a state database the bands last as long as the page.
    this._store?.save(STATE_KEY, { bands }).catch(() => undefined);
  }

  private _bands: readonly IBand[] = [];
  private readonly _queues = new Map<string, string[]>();
  private readonly _changed = new Signal<this, void>(this);
}
