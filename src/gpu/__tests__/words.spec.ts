import { nullTranslator } from '@jupyterlab/translation';
import { full } from '../../__tests__/wire';
import { DEFAULTS } from '../settings';
import { memoryTone, nodeState, temperatureTone, throttle, whyMissing } from '../words';

const trans = nullTranslator.load('jupyter-air');
const { layout } = full();
const [node] = layout.nodes;

describe('throttle', () => {
  const words = (mask: number | null): string | null =>
    throttle(mask, layout.throttleReasons, trans)?.words ?? null;

  it('is silent about idling and clocks that an application set', () => {
    expect([null, 0, 1, 2, 3].map(words)).toEqual([null, null, null, null, null]);
  });

  it('names what slows a GPU down, each once', () => {
    expect(words(0x4 | 0x1)).toBe('power cap');
    expect(words(0x20 | 0x40)).toBe('thermal slowdown');
    expect(words(0x8 | 0x80)).toBe('hardware slowdown, power brake');
    expect(throttle(0x200, [...layout.throttleReasons, 'moon phase'], trans)?.words).toBe('moon phase');
    expect(words(0x400)).toBe('reason 10');
  });

  it('alarms for heat and hardware, not for the everyday power cap', () => {
    const alarms = [0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100].map(
      mask => throttle(mask, layout.throttleReasons, trans)?.alarm
    );
    expect(alarms).toEqual([false, true, false, true, true, true, false]);
  });
});

describe('nodeState', () => {
  it.each([
    ['live', 4, 'live', 'live · 4 s ago'],
    ['live', 720, 'paused', 'paused · 12 min ago'],
    ['live', 45, 'outdated', '45 s ago'],
    ['live', null, 'live', 'no reading yet'],
    ['stale', 125, 'live', 'no answer for 2 min'],
    ['no-driver', null, 'live', 'no driver'],
    ['no-gpu', 3, 'live', 'no GPU'],
    ['error', null, 'live', 'not available']
  ] as const)('says %s after %p as %p: %s', (state, age, monitor, wanted) => {
    expect(nodeState({ ...node, state }, age, monitor, trans)).toBe(wanted);
  });
});

describe('tones', () => {
  it('warn from the threshold on', () => {
    expect([null, 79.9, 80, 89.9, 90].map(value => temperatureTone(value, DEFAULTS))).toEqual([
      'none',
      'none',
      'warn',
      'warn',
      'error'
    ]);
    expect([94.9, 95].map(used => memoryTone(used, 100, DEFAULTS))).toEqual(['none', 'warn']);
    expect(memoryTone(95, null, DEFAULTS)).toBe('none');
  });

  it('knows an error threshold below that of the warning', () => {
    expect(temperatureTone(75, { ...DEFAULTS, temperatureError: 70 })).toBe('error');
  });
});

describe('whyMissing', () => {
  const [plain, parent, slice] = node.gpus;

  it('gives the reason that fits', () => {
    expect(whyMissing(node, { ...plain, state: 'lost', reason: 'Fell off.' }, 'power', trans)).toBe(
      'Fell off.'
    );
    expect(whyMissing(node, { ...plain, memoryNote: 'shared with system memory' }, 'memory', trans)).toBe(
      'shared with system memory'
    );
    expect(whyMissing({ ...node, state: 'stale', reason: 'Old.' }, plain, 'power', trans)).toBe('Old.');
    expect(whyMissing(node, slice, 'utilization', trans)).toMatch(/MIG slice/);
    expect(whyMissing(node, parent, 'utilization', trans)).toMatch(/see its slices/);
    expect(whyMissing(node, plain, 'utilization', trans)).toBe('The GPU does not report this.');
  });
});
