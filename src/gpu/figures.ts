/** A reading of any metric as text, with what its axis needs. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { IGpu, IGpuSettings, IHost } from '../tokens';
import { bytes, bytesOf, celsius, IFigure, join, megahertz, percent, watts } from './format';
import { Metric } from './series';
import { memoryTone, temperatureTone, Tone } from './words';

/** Above what a sound GPU reaches; the line's height then means the same on every chart. */
const TEMPERATURE_TOP = 110;

/** The figure beside a chart. */
export function figureOf(metric: Metric, value: number, memoryTotal: number | null): IFigure {
  switch (metric) {
    case 'memory': {
      if (memoryTotal !== null) {
        return bytesOf(value, memoryTotal);
      }
      const [number, unit] = bytes(value).split('\u00a0');
      return { value: number, unit };
    }
    case 'temperature':
      return celsius(value);
    default:
      return percent(value);
  }
}

/** The same in a line of text. */
export function textOf(metric: Metric, value: number | null, trans: TranslationBundle): string {
  if (value === null) {
    return trans.__('n/a');
  }
  switch (metric) {
    case 'memory':
      return bytes(value);
    case 'temperature':
      return join(celsius(value));
    case 'power':
      return watts(value);
    case 'clock':
      return megahertz(value);
    default:
      return join(percent(value));
  }
}

/** The top of a metric's axis; null when only the readings tell. */
export function topOf(metric: Metric, owner: IGpu | IHost | null): number | null {
  if (metric === 'memory') {
    return owner?.memoryTotal ?? null;
  }
  return metric === 'temperature' ? TEMPERATURE_TOP : 100;
}

export function toneOf(
  metric: Metric,
  value: number | null,
  memoryTotal: number | null,
  settings: IGpuSettings
): Tone {
  switch (metric) {
    case 'temperature':
      return temperatureTone(value, settings);
    case 'memory':
      return memoryTone(value, memoryTotal, settings);
    default:
      return 'none';
  }
}
