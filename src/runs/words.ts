/** Runs in words and figures, as people read them. */
import type { TranslationBundle } from '@jupyterlab/translation';
import type { RunStatus } from './mlflow';

/** Whatever steers a terminal, turns a line around or cannot be seen; but not what joins letters and emoji. */
const UNSEEN = /(?![\u200c\u200d])[\p{C}]/gu;
const DAY_MS = 24 * 3600 * 1000;

/** A name, made by anybody, on one line. */
export function shown(name: string): string {
  return name.replace(/\s/gu, ' ').replace(UNSEEN, '\ufffd');
}

/** A shape beside the word, since colour alone says nothing. */
export function mark(status: RunStatus | null): string {
  switch (status) {
    case 'RUNNING':
      return '●';
    case 'FINISHED':
      return '✓';
    case 'FAILED':
      return '✕';
    case 'KILLED':
      return '■';
    case 'SCHEDULED':
    case null:
      return '○';
  }
}

export function statusWord(status: RunStatus | null, trans: TranslationBundle): string {
  switch (status) {
    case 'RUNNING':
      return trans.__('running');
    case 'SCHEDULED':
      return trans.__('scheduled');
    case 'FINISHED':
      return trans.__('finished');
    case 'FAILED':
      return trans.__('failed');
    case 'KILLED':
      return trans.__('killed');
    case null:
      return trans.__('status unknown');
  }
}

/** `41 s`, `12 min 04 s`, `1 h 04 min`. */
export function duration(ms: number, trans: TranslationBundle): string {
  const whole = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole < 60) {
    return trans.__('%1 s', whole);
  }
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) {
    return trans.__('%1 min %2 s', minutes, two(whole % 60));
  }
  return trans.__('%1 h %2 min', Math.floor(minutes / 60), two(minutes % 60));
}

/** Four digits, but no digit before the point is lost below ten millions: `1.842`, `48000`, `3e-5`. */
export function metricValue(value: number): string {
  if (Number.isNaN(value)) {
    return 'NaN';
  }
  if (!Number.isFinite(value)) {
    return value > 0 ? '∞' : '−∞';
  }
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    const [digits, exponent] = value.toExponential(3).split('e');
    return `${Number(digits)}e${Number(exponent)}`;
  }
  return size >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const DAY_AND_CLOCK = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23'
});

/** `14:03` of the last day, `28 Nov 2026, 14:03` before; local time. */
export function when(timeMs: number, nowMs: number): string {
  return (Math.abs(nowMs - timeMs) < DAY_MS / 2 ? CLOCK : DAY_AND_CLOCK).format(timeMs);
}

/** `61 GiB`, `5.3 GiB`. */
export function gibibytes(bytes: number): string {
  const value = bytes / 1024 ** 3;
  return `${value >= 9.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)}\u00a0GiB`;
}
