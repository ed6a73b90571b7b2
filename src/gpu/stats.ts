/** Figures over a stretch of the history: what a chart's summary says, and what a cell cost. */
import { INode } from '../tokens';
import { Metric, Series } from './series';

export interface IStats {
  readonly count: number;
  readonly low: number;
  readonly mean: number;
  readonly high: number;
}

/** Lowest, mean and highest reading from a time on; null when there is none. */
export function statsOf(
  series: Series,
  node: string,
  gpu: string,
  metric: Metric,
  fromS: number,
  toS = Infinity
): IStats | null {
  const column = series.column(node, gpu, metric);
  let count = 0;
  let sum = 0;
  let low = Infinity;
  let high = -Infinity;
  for (let i = series.indexFrom(fromS); i < series.length && series.time(i) <= toS; i++) {
    const value = column.length ? column[i] : NaN;
    if (!Number.isNaN(value)) {
      count++;
      sum += value;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return count ? { count, low, mean: sum / count, high } : null;
}

/** What the GPUs of a node did during a cell. */
export interface ICost {
  /** Percent, over all GPUs that tell it; null when none does. */
  readonly meanUtilization: number | null;
  /** The most bytes in use at one moment, all GPUs together. */
  readonly peakMemory: number | null;
  readonly energyJ: number | null;
  /** False when a pause, or the edge of the history, hides a part of it: the figures are lower bounds. */
  readonly complete: boolean;
}

/**
 * Power is integrated between neighbouring samples, never over a gap. A cell shorter than the interval takes the sample
 * that falls into it; when none does there is nothing to say.
 */
export function costOf(
  series: Series,
  node: INode,
  startS: number,
  endS: number,
  intervalS: number
): ICost | null {
  const whole = node.gpus.filter(gpu => gpu.parent === null);
  const first = series.indexFrom(startS);
  let last = first;
  while (last < series.length && series.time(last) <= endS) {
    last++;
  }
  if (first === last || whole.length === 0) {
    return null;
  }
  const means = node.gpus
    .map(gpu => statsOf(series, node.id, gpu.key, 'utilization', startS, endS))
    .filter(stats => stats !== null)
    .map(stats => stats.mean);
  let peak: number | null = null;
  for (let i = first; i < last; i++) {
    const used = whole.map(gpu => series.at(node.id, gpu.key, 'memory', i)).filter(value => value !== null);
    if (used.length) {
      peak = Math.max(
        peak ?? 0,
        used.reduce((a, b) => a + b, 0)
      );
    }
  }
  const energies = whole
    .map(gpu => energyOf(series, node.id, gpu.key, startS, endS))
    .filter(energy => energy !== null);
  const covered = energies.reduce((least, energy) => Math.min(least, energy.coveredS), Infinity);
  return {
    meanUtilization: means.length ? means.reduce((a, b) => a + b, 0) / means.length : null,
    peakMemory: peak,
    energyJ: energies.length ? energies.reduce((sum, energy) => sum + energy.joules, 0) : null,
    complete: energies.length === whole.length && covered >= endS - startS - intervalS
  };
}

function energyOf(
  series: Series,
  node: string,
  gpu: string,
  startS: number,
  endS: number
): { joules: number; coveredS: number } | null {
  let joules = 0;
  let coveredS = 0;
  for (let i = Math.max(1, series.indexFrom(startS)); i < series.length; i++) {
    const fromS = series.time(i - 1);
    const toS = series.time(i);
    if (fromS >= endS) {
      break;
    }
    const before = series.at(node, gpu, 'power', i - 1);
    const after = series.at(node, gpu, 'power', i);
    const inside = Math.min(toS, endS) - Math.max(fromS, startS);
    if (before === null || after === null || inside <= 0) {
      // Unknown at one end, as at both edges of a pause: nothing is made up for it.
      continue;
    }
    // The power at both ends of the part that lies inside, on the line between the two samples.
    const power = (timeS: number): number => before + ((after - before) * (timeS - fromS)) / (toS - fromS);
    joules += ((power(Math.max(fromS, startS)) + power(Math.min(toS, endS))) / 2) * inside;
    coveredS += inside;
  }
  return coveredS > 0 ? { joules, coveredS } : null;
}
