import { tagged } from './tag-length-value.ts';

/**
 * Returns a UTCTime for the years 1950 to 2049, a GeneralizedTime otherwise (RFC 5280 4.1.2.5); in
 * whole seconds, UTC.
 */
export function time(date: Date): Uint8Array {
  const year = date.getUTCFullYear();
  if (year < 1950 || year > 2049) return generalizedTime(date);
  return tagged(0x17, Buffer.from(timeDigits(date).slice(2), 'latin1'));
}

/**
 * Returns a GeneralizedTime without fractions of a second.
 * @throws {RangeError} for a date outside the years 0 to 9999
 */
export function generalizedTime(date: Date): Uint8Array {
  return tagged(0x18, Buffer.from(timeDigits(date), 'latin1'));
}

/** Returns `YYYYMMDDHHMMSSZ`; fractions are truncated, never rounded up into the future. */
function timeDigits(date: Date): string {
  const text = date.toISOString();
  if (text.length !== 24) throw new RangeError('the year of a time must have four digits');
  return `${text.slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}
