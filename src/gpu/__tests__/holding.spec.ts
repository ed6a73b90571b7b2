import { nullTranslator } from '@jupyterlab/translation';
import { IHolder } from '../holders';
import {
  detailsOf,
  isForgotten,
  memoryOf,
  namedSessions,
  nameOf,
  processesOf,
  roughly,
  stateOf,
  titleOf
} from '../holding';

const trans = nullTranslator.load('jupyter-air');
const GIB = 2 ** 30;
const MIB = 2 ** 20;
const NOW_S = 1_000_000;

function holder(given: Partial<IHolder> = {}): IHolder {
  return {
    kind: 'notebook',
    memory: 8 * GIB,
    pids: [42],
    pidCount: 1,
    kernelId: 'k',
    kernelName: 'Python 3',
    sessions: [notebook('train.ipynb')],
    state: 'idle',
    idleSinceS: NOW_S - 3 * 3600,
    terminal: null,
    user: 'ada',
    program: 'python3',
    own: true,
    ...given
  };
}

const notebook = (name: string): IHolder['sessions'][number] => ({
  type: 'notebook',
  name,
  path: `deep/${name}`
});

describe('a holder in words', () => {
  it.each([
    [12, '12 s'],
    [59.9, '59 s'],
    [60, '1 min'],
    [3599, '59 min'],
    [3 * 3600, '3 h'],
    [47 * 3600, '47 h'],
    [50 * 3600, '2 days'],
    [-3, '0 s']
  ])('says %p seconds roughly', (seconds, words) => expect(roughly(seconds, trans)).toBe(words));

  it.each<[Partial<IHolder>, number | null, string]>([
    [{ state: 'busy', idleSinceS: null }, 14, '[14] running'],
    [{ state: 'busy', idleSinceS: null }, null, 'running'],
    [{}, null, 'idle for 3 h'],
    [{ idleSinceS: null }, null, 'idle'],
    [{ state: 'restarting', idleSinceS: null }, null, 'starting'],
    [{ state: 'unknown', idleSinceS: null }, 14, ''],
    [{ state: null, idleSinceS: null }, null, '']
  ])('says what %p does', (given, count, words) =>
    expect(stateOf(holder(given), NOW_S, count, trans)).toBe(words)
  );

  it.each<[string, Partial<IHolder>, number | null, boolean]>([
    ['for hours, with gigabytes', {}, 80 * GIB, true],
    ['for 4 min', { idleSinceS: NOW_S - 240 }, 80 * GIB, false],
    ['for 5 min', { idleSinceS: NOW_S - 300 }, 80 * GIB, true],
    ['with 50 MiB of 80 GiB', { memory: 50 * MIB }, 80 * GIB, false],
    ['with 50 MiB of 4 GiB', { memory: 50 * MIB }, 4 * GIB, true],
    ['with 101 MiB of nobody knows', { memory: 101 * MIB }, null, true],
    ['with nobody knows how much', { memory: null }, 80 * GIB, false],
    ['not', { idleSinceS: null, state: 'busy' }, 80 * GIB, false],
    ['no kernel', { kernelId: null, kind: 'terminal' }, 80 * GIB, false]
  ])('calls it forgotten when idle %s: %p of %p is %p', (_, given, total, forgotten) =>
    expect(isForgotten(holder(given), total, NOW_S)).toBe(forgotten)
  );

  const nobody = { sessions: [], kernelId: null, kernelName: null, state: null, idleSinceS: null };
  it.each<[Partial<IHolder>, string, string]>([
    [{ kind: 'terminal', terminal: '2', ...nobody }, 'Terminal 2', ''],
    [{ kind: 'process', ...nobody }, 'python3', 'PID 42'],
    [{ kind: 'process', ...nobody, own: false, user: 'bob' }, 'python3 of bob', 'PID 42'],
    [{ kind: 'process', ...nobody, program: null, user: null }, 'a process', 'PID 42'],
    [{ kind: 'host-process', ...nobody, program: null }, 'host PID 42', ''],
    [{ kind: 'kernel', sessions: [], pidCount: 4 }, 'Python 3', '4 processes']
  ])('names what has no notebook: %p', (given, name, processes) => {
    expect(nameOf(holder(given), trans)).toBe(name);
    expect(titleOf(holder(given), trans)).toBe(name);
    expect(processesOf(holder(given), trans)).toBe(processes);
  });

  it('names three notebooks, and counts the rest of more', () => {
    const many = ['a', 'b', 'c', 'd'].map(notebook);
    expect(namedSessions(holder({ sessions: many.slice(0, 3) }))).toEqual({
      named: many.slice(0, 3),
      more: 0
    });
    expect(namedSessions(holder({ sessions: many }))).toEqual({ named: many.slice(0, 2), more: 2 });
    expect(titleOf(holder({ sessions: many }), trans)).toBe('a and 3 more');
    expect(titleOf(holder(), trans)).toBe('train.ipynb');
  });

  it('says that it does not know how much, and why', () => {
    expect(memoryOf(holder({ memory: null }), trans)).toBe('n/a');
    expect(detailsOf(holder({ memory: null }), trans)).toMatch(/^The driver does not tell how much/);
    expect(memoryOf(holder({ memory: 0 }), trans)).toMatch(/^0.B$/);
  });

  it('has the details that the line has no room for', () => {
    expect(detailsOf(holder({ pids: [42, 43], pidCount: 20 }), trans).split('\n')).toEqual([
      'deep/train.ipynb',
      'Python 3',
      'python3, run by ada',
      '20 processes: PID 42, 43, …'
    ]);
    expect(detailsOf(holder({ kind: 'host-process', ...nobody }), trans)).toMatch(
      /outside of this container.*42/
    );
  });
});
