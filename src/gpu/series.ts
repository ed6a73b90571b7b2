/** The browser's copy of the history: one list of times, a column of readings for each metric of each GPU and host. */
import { Column, IGpuPoll, INodeColumns } from '../api';
import { GPU_METRICS, GpuMetric, HOST_KEY, HOST_METRICS, HostMetric, ILayout, INode } from '../tokens';

/** How much of a slot the server's timer may fire early; see history.py. */
const EARLY_SLOTS = 0.02;

export type Metric = GpuMetric | HostMetric;

/** What a chart draws; null breaks the line. */
export interface IPoints {
  readonly times: number[];
  readonly values: (number | null)[];
}

const EMPTY: Column = new Float32Array(0);

/** The server keeps one sample for each stretch of an interval; samples of neighbouring ones have no gap between them. */
function slotOf(timeS: number, intervalS: number): number {
  return Math.floor(timeS / intervalS + EARLY_SLOTS);
}

function keyOf(gpu: string, metric: Metric): string {
  return `${metric}\n${gpu}`;
}

/** Calls back for each column that an answer has of a node. */
function eachColumn(
  node: INode,
  columns: INodeColumns,
  visit: (gpu: string, metric: Metric, readings: Column) => void
): void {
  const those = (gpu: string, metrics: readonly Metric[], given: Partial<Record<Metric, Column>>): void =>
    metrics.forEach(metric => {
      const readings = given[metric];
      if (readings) {
        visit(gpu, metric, readings);
      }
    });
  those(HOST_KEY, HOST_METRICS, columns.host);
  node.gpus.forEach((gpu, g) => those(gpu.key, GPU_METRICS, columns.gpus[g]));
}

/** Ascending times and the columns beside them. A pause has rows of its own in which nothing is known. */
export class Series {
  get length(): number {
    return this._length;
  }

  /** The time of row `i`. */
  time(i: number): number {
    return this._times[i];
  }

  /** Takes an answer over: drops what it replaces, appends what it brings, forgets what left the window. */
  update(poll: IGpuPoll): void {
    if (poll.layoutChanged) {
      this._keepOnly(poll.layout);
    }
    this._truncate(poll.replaceFromS);
    this._forget(poll.timeS - poll.windowS - poll.pollIntervalS);
    this._append(poll);
  }

  /**
   * Takes over the past of nodes that were not followed before, from an answer with all of their samples. A sample that
   * is not here yet comes with the next update.
   */
  fill(past: IGpuPoll): void {
    const rows = new Int32Array(past.times.length).fill(-1);
    let row = 0;
    past.times.forEach((time, i) => {
      while (row < this._length && this._times[row] < time) {
        row++;
      }
      if (row < this._length && this._times[row] === time) {
        rows[i] = row;
      }
    });
    this._takeColumns(past, rows);
  }

  /** Lets go of a node's columns. */
  drop(node: string): void {
    this._nodes.delete(node);
  }

  /** The column of a metric; as long as `length` at least, NaN is unknown. Empty when there is none. */
  column(node: string, gpu: string, metric: Metric): Column {
    return this._nodes.get(node)?.get(keyOf(gpu, metric)) ?? EMPTY;
  }

  /** The reading in row `i`; null when it is unknown. */
  at(node: string, gpu: string, metric: Metric, i: number): number | null {
    const column = this.column(node, gpu, metric);
    return i < 0 || i >= this._length || column.length === 0 || Number.isNaN(column[i]) ? null : column[i];
  }

  /** The newest reading; null when it is unknown. */
  last(node: string, gpu: string, metric: Metric): number | null {
    return this.at(node, gpu, metric, this._length - 1);
  }

  /** The first row at or after a time. */
  indexFrom(timeS: number): number {
    let low = 0;
    let high = this._length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this._times[middle] < timeS) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** The row nearest to a time, -1 when nothing was sampled about then. */
  nearest(timeS: number, intervalS: number): number {
    const after = this.indexFrom(timeS);
    const before = after - 1;
    const pick =
      after >= this._length || (before >= 0 && timeS - this._times[before] <= this._times[after] - timeS)
        ? before
        : after;
    return pick >= 0 && Math.abs(this._times[pick] - timeS) <= intervalS ? pick : -1;
  }

  /** What a chart draws from a time on; the row before it too, so that the line enters from the edge. */
  points(node: string, gpu: string, metric: Metric, fromS: number): IPoints {
    const column = this.column(node, gpu, metric);
    const start = Math.max(0, this.indexFrom(fromS) - 1);
    const count = this._length - start;
    const times = new Array<number>(count);
    const values = new Array<number | null>(count);
    for (let i = 0; i < count; i++) {
      const value = column.length ? column[start + i] : NaN;
      times[i] = this._times[start + i];
      values[i] = Number.isNaN(value) ? null : value;
    }
    return { times, values };
  }

  private _truncate(fromS: number): void {
    this._length = this.indexFrom(fromS);
    // A gap's rows belong to the samples on both its sides.
    while (this._length > 0 && this._isGap[this._length - 1]) {
      this._length--;
    }
  }

  private _forget(beforeS: number): void {
    const drop = this.indexFrom(beforeS);
    if (drop === 0) {
      return;
    }
    this._times.copyWithin(0, drop, this._length);
    this._isGap.copyWithin(0, drop, this._length);
    this._eachHeld(column => column.copyWithin(0, drop, this._length));
    this._length -= drop;
  }

  private _append(poll: IGpuPoll): void {
    const { times, pollIntervalS: interval } = poll;
    this._reserve(this._length + times.length * 3);
    const rows = new Int32Array(times.length).fill(-1);
    times.forEach((time, i) => {
      const last = this._length > 0 ? this._times[this._length - 1] : -Infinity;
      if (time <= last) {
        return;
      }
      if (this._length > 0 && slotOf(time, interval) - slotOf(last, interval) > 1) {
        this._pushGap(last + interval / 2);
        this._pushGap(time - interval / 2);
      }
      rows[i] = this._length;
      this._pushRow(time, 0);
    });
    this._takeColumns(poll, rows);
  }

  private _pushGap(time: number): void {
    this._pushRow(time, 1);
  }

  private _pushRow(time: number, gap: number): void {
    this._times[this._length] = time;
    this._isGap[this._length] = gap;
    this._eachHeld(column => {
      column[this._length] = NaN;
    });
    this._length++;
  }

  /** Writes an answer's readings into these rows (-1: nowhere), in columns that know nothing of other times. */
  private _takeColumns({ layout, columns }: IGpuPoll, rows: Int32Array): void {
    layout.nodes.forEach((node, n) => {
      const given = columns[n];
      if (!given) {
        return;
      }
      const held = this._nodes.get(node.id) ?? new Map<string, Column>();
      this._nodes.set(node.id, held);
      eachColumn(node, given, (gpu, metric, readings) => {
        const key = keyOf(gpu, metric);
        const column = held.get(key) ?? new Float32Array(this._times.length).fill(NaN);
        held.set(key, column);
        for (let i = 0; i < rows.length; i++) {
          if (rows[i] >= 0) {
            column[rows[i]] = readings[i];
          }
        }
      });
    });
  }

  /** Room for so many rows. */
  private _reserve(rows: number): void {
    if (rows <= this._times.length) {
      return;
    }
    const capacity = Math.ceil(rows * 1.25) + 64;
    const grow = <T extends Float32Array | Float64Array | Uint8Array>(from: T, to: T): T => {
      to.set(from.subarray(0, this._length));
      return to;
    };
    this._times = grow(this._times, new Float64Array(capacity));
    this._isGap = grow(this._isGap, new Uint8Array(capacity));
    this._eachHeld((column, key, held) => held.set(key, grow(column, new Float32Array(capacity).fill(NaN))));
  }

  private _keepOnly(layout: ILayout): void {
    const nodes = new Map(layout.nodes.map(node => [node.id, node]));
    this._nodes.forEach((held, id) => {
      const node = nodes.get(id);
      if (!node) {
        this._nodes.delete(id);
        return;
      }
      const gpus = new Set([HOST_KEY, ...node.gpus.map(gpu => gpu.key)]);
      for (const key of held.keys()) {
        if (!gpus.has(key.slice(key.indexOf('\n') + 1))) {
          held.delete(key);
        }
      }
    });
  }

  private _eachHeld(visit: (column: Column, key: string, held: Map<string, Column>) => void): void {
    this._nodes.forEach(held => held.forEach((column, key) => visit(column, key, held)));
  }

  private _times = new Float64Array(0);
  private _isGap = new Uint8Array(0);
  private _length = 0;
  private readonly _nodes = new Map<string, Map<string, Column>>();
}
