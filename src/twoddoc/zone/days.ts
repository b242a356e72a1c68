/** Days and times of 2D-Doc (ANTS 2D-Doc v3.2.6, §3.3 and §7). */

const dayMilliseconds = 86_400_000;
const firstDay = Date.UTC(2000, 0, 1);
/** 2179-06-05. FFFF stands for no date. */
const lastDayNumber = 0xfffe;

/** Written in a header for a document without a date of issue. */
export const undated = 'FFFF';

/**
 * Returns the four hexadecimal digits for a day (UTC); undefined before 2000-01-01 and after
 * 2179-06-05.
 */
export function hexOfDay(day: Date): string | undefined {
  const number = Math.floor((day.getTime() - firstDay) / dayMilliseconds);
  return number >= 0 && number <= lastDayNumber ? number.toString(16).toUpperCase().padStart(4, '0') : undefined;
}

/**
 * Returns the start (UTC) of the day that four hexadecimal digits stand for; undefined for FFFF,
 * and for other text.
 */
export function dayOfHex(hex: string): Date | undefined {
  return /^[0-9A-F]{4}$/.test(hex) && hex !== undated ? new Date(firstDay + Number.parseInt(hex, 16) * dayMilliseconds) : undefined;
}

/** Returns a day as in ISO 8601, such as 2012-11-15. */
export function isoOfDay(day: Date): string {
  return day.toISOString().slice(0, 10);
}

/**
 * Returns the start (UTC) of a day that is written as 2012-11-15; undefined for a day that no
 * calendar has.
 */
export function dayOfIso(iso: string): Date | undefined {
  const [, year = '', month = '', day = ''] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(iso) ?? [];
  return isDay(year, month, day) ? new Date(`${iso}T00:00:00Z`) : undefined;
}

/** Checks a day of the Gregorian calendar in digits, from the year 1 on. */
export function isDay(year: string, month: string, day: string): boolean {
  const [y, m, d] = [Number(year), Number(month), Number(day)];
  if (y < 1 || m < 1 || m > 12 || d < 1) return false;
  const isLeap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
  const monthDays = m === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(m) ? 30 : 31;
  return d <= monthDays;
}

/** Checks a time of day in digits. */
export function isTime(hours: string, minutes: string, seconds = '00'): boolean {
  return Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
}
