import { tagged } from './tag-length-value.ts';

/** RFC 5280 4.1.2.5: UTCTime for the years 1950 to 2049, GeneralizedTime for all others; to the second, in UTC. */
export function time(date: Date): Uint8Array {
  const year = date.getUTCFullYear();
  if (year < 1950 || year > 2049) return generalizedTime(date);
  return tagged(0x17, Buffer.from(timeDigits(date).slice(2), 'latin1'));
}

/** A GeneralizedTime without fractions of a second. @throws {RangeError} for a date outside of the years 0 to 9999. */
export function generalizedTime(date: Date): Uint8Array {
  return tagged(0x18, Buffer.from(timeDigits(date), 'latin1'));
}

/** `YYYYMMDDHHMMSSZ`; what is less than a second is cut off, never rounded up into the future. */
function timeDigits(date: Date): string {
  const text = date.toISOString();
  if (text.length !== 24) throw new RangeError('the year of a time has four digits');
  return `${text.slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}
