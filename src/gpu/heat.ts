/** The arithmetic of the heat strip: a line of cells for a GPU, a cell for a stretch of time. */
import { Column } from '../api';
import { Series } from './series';

/** The highest reading in each of `cells` equal stretches of [fromS, toS]; NaN where nothing is known. */
export function heatCells(
  series: Series,
  column: Column,
  fromS: number,
  toS: number,
  cells: number
): Float32Array {
  const out = new Float32Array(cells).fill(NaN);
  const width = (toS - fromS) / cells;
  if (!(width > 0) || column.length === 0) {
    return out;
  }
  for (let i = series.indexFrom(fromS); i < series.length; i++) {
    const cell = Math.min(cells - 1, Math.floor((series.time(i) - fromS) / width));
    const value = column[i];
    if (series.time(i) > toS) {
      break;
    }
    if (!Number.isNaN(value) && !(out[cell] >= value)) {
      out[cell] = value;
    }
  }
  return out;
}

/**
 * A reading stands for the time since the one before it: where samples are rarer than cells, each fills the empty ones
 * before it, as far as one interval reaches.
 */
export function fillBack(cells: Float32Array, reach: number): Float32Array {
  const out = Float32Array.from(cells);
  for (let i = cells.length - 1; i >= 0; i--) {
    if (!Number.isNaN(cells[i])) {
      for (let j = i - 1; j >= 0 && i - j < reach && Number.isNaN(cells[j]); j--) {
        out[j] = cells[i];
      }
    }
  }
  return out;
}

/** Height of a line of the strip, so that many GPUs stay a strip and few stay readable. */
export function lineHeight(gpus: number, compact: boolean): number {
  const roomy = compact ? 4 : 6;
  return Math.max(2, Math.min(roomy, Math.floor((compact ? 120 : 180) / Math.max(1, gpus))));
}
