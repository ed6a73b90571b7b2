/** A holder in words. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { bytes } from './format';
import { IHolder } from './holders';

/** From here on a kernel that does nothing is worth a word. */
const FORGOTTEN_AFTER_S = 300;
const FORGOTTEN_FROM_BYTES = 100 * 2 ** 20;
const FORGOTTEN_FROM_SHARE = 0.01;
/** More names than these are a number. */
const MAX_NAMES = 3;

/** `12 s`, `5 min`, `3 h`, `2 days`: one unit says enough about being idle. */
export function roughly(seconds: number, trans: TranslationBundle): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) {
    return trans.__('%1 s', whole);
  }
  if (whole < 3600) {
    return trans.__('%1 min', Math.floor(whole / 60));
  }
  const hours = Math.floor(whole / 3600);
  return hours < 48 ? trans.__('%1 h', hours) : trans.__('%1 days', Math.floor(hours / 24));
}

/** Whether somebody seems to have forgotten it: idle for minutes, and it holds what others could use. */
export function isForgotten(holder: IHolder, totalBytes: number | null, nowS: number): boolean {
  const { kernelId, memory, idleSinceS } = holder;
  if (kernelId === null || memory === null || idleSinceS === null || nowS - idleSinceS < FORGOTTEN_AFTER_S) {
    return false;
  }
  return memory > FORGOTTEN_FROM_BYTES || (totalBytes !== null && memory > FORGOTTEN_FROM_SHARE * totalBytes);
}

/** What it does now: `[14] running`, `idle for 3 h`; empty when nobody knows. `count` is of the running cell. */
export function stateOf(
  holder: IHolder,
  nowS: number,
  count: number | null,
  trans: TranslationBundle
): string {
  switch (holder.state) {
    case 'busy':
      return count === null ? trans.__('running') : trans.__('[%1] running', count);
    case 'idle':
      return holder.idleSinceS === null
        ? trans.__('idle')
        : trans.__('idle for %1', roughly(nowS - holder.idleSinceS, trans));
    case 'starting':
    case 'restarting':
      return trans.__('starting');
    default:
      return '';
  }
}

/** How much, as the line begins. */
export function memoryOf(holder: IHolder, trans: TranslationBundle): string {
  return holder.memory === null ? trans.__('n/a') : bytes(holder.memory);
}

/** What it is called when it has no notebook: a terminal, a program of somebody's, a number of the host's. */
export function nameOf(holder: IHolder, trans: TranslationBundle): string {
  const { program, user } = holder;
  switch (holder.kind) {
    case 'terminal':
      return trans.__('Terminal %1', holder.terminal ?? '');
    case 'host-process':
      return trans.__('host PID %1', holder.pids[0]);
    case 'process':
      if (program === null) {
        return trans.__('a process');
      }
      return holder.own || user === null ? program : trans.__('%1 of %2', program, user);
    default:
      return holder.kernelName ?? trans.__('Kernel');
  }
}

/** Which process, where nothing else tells it; how many, where there are several. */
export function processesOf(holder: IHolder, trans: TranslationBundle): string {
  if (holder.kind === 'process') {
    return trans.__('PID %1', holder.pids[0]);
  }
  return holder.pidCount > 1 ? trans.__('%1 processes', holder.pidCount) : '';
}

/** All of it in a word, for a menu's button or a dialog: `train.ipynb`, `a.ipynb and 2 more`. */
export function titleOf(holder: IHolder, trans: TranslationBundle): string {
  const [first, ...others] = holder.sessions;
  if (holder.sessions.length === 0) {
    return nameOf(holder, trans);
  }
  return others.length ? trans._n('%2 and %1 more', '%2 and %1 more', others.length, first.name) : first.name;
}

/** How many of its notebooks are named, and how many are only counted. */
export function namedSessions(holder: IHolder): { named: IHolder['sessions']; more: number } {
  const { sessions } = holder;
  const named = sessions.length <= MAX_NAMES ? sessions : sessions.slice(0, MAX_NAMES - 1);
  return { named, more: sessions.length - named.length };
}

/** What does not fit into the line: whose it is, the kernel, the processes. */
export function detailsOf(holder: IHolder, trans: TranslationBundle): string {
  const { kind, kernelName, user, program, pids, pidCount } = holder;
  const numbers = pidCount > pids.length ? `${pids.join(', ')}, …` : pids.join(', ');
  const processes = trans._n('Process: PID %2', '%1 processes: PID %2', pidCount, numbers);
  if (kind === 'host-process') {
    return trans.__(
      'A process outside of this container holds it, or one whose number here is not known. On the host it is PID %1.',
      numbers
    );
  }
  return [
    holder.memory === null ? trans.__('The driver does not tell how much memory it is.') : '',
    ...holder.sessions.map(session => session.path),
    holder.kernelId === null ? '' : (kernelName ?? ''),
    program === null ? '' : user === null ? program : trans.__('%1, run by %2', program, user),
    processes
  ]
    .filter(Boolean)
    .join('\n');
}
