/** Times and endings of runs as the list has them: as short as can be. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { END_REASON_TAG, type IRun } from './mlflow';
import { duration, shown, statusWord } from './words';

const MAX_REASON = 200;
const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;

/** `running`, or `deleted`. */
export function stateWord(run: IRun, trans: TranslationBundle): string {
  return run.deleted ? trans.__('deleted') : statusWord(run.status, trans);
}

/** Why a run ended, as a few quiet words: `kernel died` of "The kernel died."; empty where nobody has said. */
export function endReason(run: IRun): string {
  const reason = shown(run.tags.get(END_REASON_TAG) ?? '').trim();
  const short = reason.slice(0, MAX_REASON).replace(/\.$/, '').replace(/^The /, '');
  return short.charAt(0).toLowerCase() + short.slice(1);
}

/** `now`, `12 min`, `2 h`, `1 d`; empty where it is not known. */
export function age(sinceMs: number | null, nowMs: number, trans: TranslationBundle): string {
  if (sinceMs === null) {
    return '';
  }
  const seconds = Math.max(0, (nowMs - sinceMs) / 1000);
  if (seconds < MINUTE_S) {
    return trans.__('now');
  }
  if (seconds < HOUR_S) {
    return trans.__('%1 min', Math.floor(seconds / MINUTE_S));
  }
  return seconds < DAY_S
    ? trans.__('%1 h', Math.floor(seconds / HOUR_S))
    : trans.__('%1 d', Math.floor(seconds / DAY_S));
}

/** How long it took, or has been running; empty where it is not known. */
export function took(run: IRun, nowMs: number, trans: TranslationBundle): string {
  const endMs = run.endMs ?? (run.status === 'RUNNING' ? nowMs : null);
  return run.startMs === null || endMs === null ? '' : duration(endMs - run.startMs, trans);
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Date and time, local; empty for a number that no calendar has. */
export function moment(timeMs: number): string {
  return Math.abs(timeMs) < 8.64e15 ? MOMENT.format(timeMs) : '';
}
