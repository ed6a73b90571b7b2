/** Figures as people read them. The unit stands apart, so that it can be set smaller. */
import type { TranslationBundle } from '@jupyterlab/translation';

/** A narrow no-break space would be finer typography, but many fonts lack it. */
const NBSP = '\u00a0';
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export interface IFigure {
  readonly value: string;
  readonly unit: string;
}

/** `87` `%`. */
export function percent(value: number): IFigure {
  return { value: String(Math.round(value)), unit: '%' };
}

/** `64` `°C`. */
export function celsius(value: number): IFigure {
  return { value: String(Math.round(value)), unit: '°C' };
}

/** `412` `W`, `51.6` `kW`, `1.2` `MW`. */
export function power(watts: number): IFigure {
  if (watts < 1e4) {
    return { value: String(Math.round(watts)), unit: 'W' };
  }
  return watts < 1e6
    ? { value: digits(watts / 1e3), unit: 'kW' }
    : { value: digits(watts / 1e6), unit: 'MW' };
}

export function watts(value: number): string {
  return `${Math.round(value)}${NBSP}W`;
}

export function megahertz(value: number): string {
  return `${Math.round(value)}${NBSP}MHz`;
}

function scaleOf(bytes: number): number {
  let scale = 0;
  while (scale < UNITS.length - 1 && bytes >= 1024 ** (scale + 1)) {
    scale++;
  }
  return scale;
}

/** Three digits: `5.3`, `61.2`, `137`. Whole ones stay whole. */
function digits(value: number): string {
  return value >= 99.95 || value === 0 ? String(Math.round(value)) : value.toFixed(1);
}

/** `61.2 GiB`. */
export function bytes(value: number): string {
  const scale = scaleOf(value);
  return `${digits(value / 1024 ** scale)}${NBSP}${UNITS[scale]}`;
}

/** `61.2` `/ 80 GiB`: both in the unit of the total. */
export function bytesOf(used: number, total: number): IFigure {
  const scale = scaleOf(total);
  const whole = total / 1024 ** scale;
  const shown = whole >= 10 ? String(Math.round(whole)) : String(Number(whole.toFixed(1)));
  return { value: digits(used / 1024 ** scale), unit: `/${NBSP}${shown}${NBSP}${UNITS[scale]}` };
}

export function join(figure: IFigure): string {
  return `${figure.value}${NBSP}${figure.unit}`;
}

/** `4 s`, `2 min`, `1 h 04 min`. */
export function duration(seconds: number, trans: TranslationBundle): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) {
    return trans.__('%1 s', whole);
  }
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) {
    return trans.__('%1 min', minutes);
  }
  return trans.__('%1 h %2 min', Math.floor(minutes / 60), String(minutes % 60).padStart(2, '0'));
}

/** `340 J`, `48.2 kJ`, `1.2 kWh` would mix units: watt-hours from a tenth on, as bills have them. */
export function energy(joules: number): string {
  const wattHours = joules / 3600;
  if (wattHours >= 999.5) {
    return `${digits(wattHours / 1000)}${NBSP}kWh`;
  }
  return wattHours >= 0.1 ? `${digits(wattHours)}${NBSP}Wh` : `${Math.round(joules)}${NBSP}J`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const CLOCK_SECONDS = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23'
});

/** `14:20`, local time. */
export function clock(timeS: number): string {
  return CLOCK.format(timeS * 1000);
}

/** `14:20:05`, local time. */
export function clockSeconds(timeS: number): string {
  return CLOCK_SECONDS.format(timeS * 1000);
}

/** `GMT+2`, or the name that the zone has here. */
export function shortZone(timeS: number): string {
  const parts = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' }).formatToParts(timeS * 1000);
  return parts.find(part => part.type === 'timeZoneName')?.value ?? '';
}

/** `Europe/Berlin, GMT+2`. */
export function zone(timeS: number): string {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const short = shortZone(timeS);
  return short && short !== name ? `${name}, ${short}` : name;
}
