import { element } from './element.ts';

/** Shows a time in UTC, as the logs do: `2026-11-25 16:20:03`. */
export function moment(iso: string): HTMLElement {
  return element('time', { datetime: iso, class: 'figures' }, momentText(iso));
}

export function momentText(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ');
}

const units = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** `3 days`, `2 hours`: in the largest unit of which there are two, rounded down. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [size, unit] = units.find(([of]) => whole >= 2 * of) ?? units[3];
  return counted(Math.floor(whole / size), unit);
}

export function counted(count: number, unit: string): string {
  return `${number(count)} ${unit}${count === 1 ? '' : 's'}`;
}

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });

export function number(value: number): string {
  return whole.format(value);
}

/** A rate or a count, with as many digits as tell something. */
export function figure(value: number): string {
  return value >= 100 ? whole.format(value) : String(Number(value.toFixed(value >= 10 ? 1 : 2)));
}

/** A short time: `340 µs`, `12 ms`, `1.8 s`. */
export function shortTime(seconds: number): string {
  if (seconds === 0) return '0 ms';
  if (seconds < 0.001) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  return `${seconds.toFixed(1)} s`;
}

/** Any value of a record or the configuration, on one line. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ');
  return JSON.stringify(value);
}
