/** States and reasons in words. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { GpuMetric, IGpu, IGpuSettings, INode } from '../tokens';
import { duration } from './format';

export type Tone = 'none' | 'warn' | 'error';

/** Bits that say nothing is wrong: idle, and clocks as the applications set them. */
const CALM_BITS = 0b11;
/** Slowed down by the hardware, by heat or by the power supply; the other reasons are everyday. */
const ALARM_BITS = 0b1110_1000;

/** Whether a mask of throttle reasons has one that is no everyday matter. */
export function isAlarm(mask: number | null): boolean {
  return ((mask ?? 0) & ALARM_BITS) !== 0;
}

/** Why a GPU is slowed down; null when it is not. */
export function throttle(
  mask: number | null,
  names: readonly string[],
  trans: TranslationBundle
): { words: string; alarm: boolean } | null {
  const bits = mask === null ? 0 : mask & ~CALM_BITS;
  if (bits === 0) {
    return null;
  }
  const known: Readonly<Partial<Record<number, string>>> = {
    2: trans.__('power cap'),
    3: trans.__('hardware slowdown'),
    4: trans.__('sync boost'),
    5: trans.__('thermal slowdown'),
    6: trans.__('thermal slowdown'),
    7: trans.__('power brake'),
    8: trans.__('display clocks')
  };
  const words = new Set<string>();
  const given = (bit: number): string | undefined => (bit < names.length ? names[bit] : undefined);
  for (let bit = 0; bit < 31; bit++) {
    if (bits & (1 << bit)) {
      words.add(known[bit] ?? given(bit) ?? trans.__('reason %1', bit));
    }
  }
  return { words: [...words].join(', '), alarm: isAlarm(bits) };
}

/** Why a GPU does not tell a reading. */
export function whyMissing(node: INode, gpu: IGpu, metric: GpuMetric, trans: TranslationBundle): string {
  if (gpu.state !== 'ok') {
    return gpu.reason ?? trans.__('This GPU gives no readings.');
  }
  if (metric === 'memory' && gpu.memoryNote) {
    return gpu.memoryNote;
  }
  if (node.state !== 'live') {
    return node.reason ?? trans.__('This node gives no readings.');
  }
  if (gpu.parent !== null) {
    return trans.__('A MIG slice does not report this.');
  }
  if (node.gpus.some(one => one.parent === gpu.key)) {
    return trans.__('A GPU that is divided by MIG does not report this; see its slices.');
  }
  return trans.__('The GPU does not report this.');
}

/** The state of a node and how old its readings are; `outdated` when the server itself is silent. */
export function nodeState(
  node: INode,
  ageS: number | null,
  monitor: 'live' | 'paused' | 'outdated',
  trans: TranslationBundle
): string {
  const ago = ageS === null ? null : duration(ageS, trans);
  switch (node.state) {
    case 'no-driver':
      return trans.__('no driver');
    case 'no-gpu':
      return trans.__('no GPU');
    case 'stale':
      return ago === null ? trans.__('no answer') : trans.__('no answer for %1', ago);
    case 'error':
      return ago === null ? trans.__('not available') : trans.__('no answer for %1', ago);
    case 'live':
      if (ago === null) {
        return monitor === 'paused' ? trans.__('paused') : trans.__('no reading yet');
      }
      if (monitor === 'outdated') {
        return trans.__('%1 ago', ago);
      }
      return monitor === 'paused' ? trans.__('paused · %1 ago', ago) : trans.__('live · %1 ago', ago);
  }
}

export function temperatureTone(value: number | null, settings: IGpuSettings): Tone {
  if (value === null || value < Math.min(settings.temperatureWarn, settings.temperatureError)) {
    return 'none';
  }
  return value >= settings.temperatureError ? 'error' : 'warn';
}

export function memoryTone(used: number | null, total: number | null, settings: IGpuSettings): Tone {
  return used !== null && total !== null && total > 0 && (used / total) * 100 >= settings.memoryWarnPercent
    ? 'warn'
    : 'none';
}

/** A GPU as one calls it: `GPU 0`, or a slice of it. */
export function gpuTitle(gpu: IGpu, trans: TranslationBundle): string {
  return gpu.parent === null ? trans.__('GPU %1', gpu.index) : trans.__('MIG slice %1', gpu.index);
}

export function metricTitle(metric: GpuMetric | 'cpu', trans: TranslationBundle): string {
  switch (metric) {
    case 'utilization':
      return trans.__('Utilization');
    case 'memory':
      return trans.__('Memory');
    case 'temperature':
      return trans.__('Temperature');
    case 'power':
      return trans.__('Power');
    case 'clock':
      return trans.__('Clock');
    case 'throttle':
      return trans.__('Slowed by');
    case 'cpu':
      return trans.__('CPU');
  }
}
