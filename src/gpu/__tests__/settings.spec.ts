import { readFileSync } from 'fs';
import { join } from 'path';
import { DEFAULTS, readSettings, Settings } from '../settings';

describe('readSettings', () => {
  it('has the defaults of the schema', () => {
    const schema = JSON.parse(
      readFileSync(join(process.cwd(), 'jupyter_air', 'schema', 'gpu.json'), 'utf8')
    ) as { properties: Record<string, { default: unknown }> };
    const defaults = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, property.default])
    );
    expect(defaults).toEqual(DEFAULTS);
    expect(readSettings({})).toEqual(DEFAULTS);
  });

  it('takes what is usable and leaves the rest', () => {
    expect(
      readSettings({
        window: '15m',
        temperatureWarn: 70,
        temperatureError: -1,
        memoryWarnPercent: 'all',
        density: 'x'
      })
    ).toEqual({ ...DEFAULTS, window: '15m', temperatureWarn: 70 });
    expect(readSettings({ window: 'toString' }).window).toBe('2h');
  });
});

describe('Settings', () => {
  it('shows a change at once, and has it kept', () => {
    const settings = new Settings();
    const changed = jest.fn();
    const keep = jest.fn(() => Promise.resolve());
    settings.changed.connect(changed);
    settings.keepBy(keep);
    settings.set('window', '1h');
    settings.set('window', '1h');
    settings.replace({ ...settings.value });
    expect(settings.windowS).toBe(3600);
    expect(changed).toHaveBeenCalledTimes(1);
    expect(keep.mock.calls).toEqual([['window', '1h']]);
  });
});
