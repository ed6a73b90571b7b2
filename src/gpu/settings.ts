/** The pane's settings as the views read them; where they are kept is the plugin's affair. */
import { ISignal, Signal } from '@lumino/signaling';
import { Density, FleetOrder, IGpuSettings, WindowName } from '../tokens';

export const WINDOW_SECONDS: Readonly<Record<WindowName, number>> = { '15m': 900, '1h': 3600, '2h': 7200 };

export const FLEET_ORDERS: readonly FleetOrder[] = ['name', 'busiest', 'idlest', 'trouble'];

export const DEFAULTS: IGpuSettings = {
  window: '2h',
  temperatureWarn: 80,
  temperatureError: 90,
  memoryWarnPercent: 95,
  density: 'comfortable',
  fleetOrder: 'name',
  keepWhileBusy: false,
  statusBarItem: false
};

const KEYS = Object.keys(DEFAULTS) as (keyof IGpuSettings)[];

/** Fills in what is missing or not usable, so that a hand-edited file breaks nothing. */
export function readSettings(value: Readonly<Record<string, unknown>>): IGpuSettings {
  const within = (key: 'temperatureWarn' | 'temperatureError' | 'memoryWarnPercent', max: number): number => {
    const given = value[key];
    return typeof given === 'number' && given > 0 && given <= max ? given : DEFAULTS[key];
  };
  const flag = (key: 'keepWhileBusy' | 'statusBarItem'): boolean => value[key] === true;
  return {
    window: Object.hasOwn(WINDOW_SECONDS, String(value.window))
      ? (value.window as WindowName)
      : DEFAULTS.window,
    temperatureWarn: within('temperatureWarn', 150),
    temperatureError: within('temperatureError', 150),
    memoryWarnPercent: within('memoryWarnPercent', 100),
    density: value.density === 'compact' ? ('compact' satisfies Density) : 'comfortable',
    fleetOrder: FLEET_ORDERS.find(order => order === value.fleetOrder) ?? DEFAULTS.fleetOrder,
    keepWhileBusy: flag('keepWhileBusy'),
    statusBarItem: flag('statusBarItem')
  };
}

type Keep = <K extends keyof IGpuSettings>(key: K, value: IGpuSettings[K]) => Promise<void>;

/** The current settings. A change shows at once and is then kept, if there is somebody to keep it. */
export class Settings {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get value(): IGpuSettings {
    return this._value;
  }

  get windowS(): number {
    return WINDOW_SECONDS[this._value.window];
  }

  set<K extends keyof IGpuSettings>(key: K, value: IGpuSettings[K]): void {
    if (this._value[key] !== value) {
      this.replace({ ...this._value, [key]: value });
      this._keep?.(key, value).catch((reason: unknown) => console.warn('A setting was not kept.', reason));
    }
  }

  /** What the place where they are kept says now. */
  replace(value: IGpuSettings): void {
    if (KEYS.some(key => value[key] !== this._value[key])) {
      this._value = value;
      this._changed.emit();
    }
  }

  /** From now on changes are kept by this function. */
  keepBy(keep: Keep): void {
    this._keep = keep;
  }

  private _value = DEFAULTS;
  private _keep: Keep | null = null;
  private readonly _changed = new Signal<this, void>(this);
}
