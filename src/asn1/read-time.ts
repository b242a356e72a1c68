import { generalizedTime, time } from './der.ts';
import { DerError } from './reader.ts';
import type { DerElement } from './reader.ts';

const utcTimeTag = 0x17;

/**
 * Reads a UTCTime or GeneralizedTime in the form of RFC 5280 4.1.2.5: with seconds, without
 * fractions, in UTC (`Z`).
 * @throws {DerError} for any other form, and for a time that does not exist
 */
export function readTime(element: DerElement): Date {
  const text = Buffer.from(element.content).toString('latin1');
  const found = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text);
  if (found === null) throw new DerError('not a time in the form of RFC 5280', element.start);
  const isUtcTime = element.tag === utcTimeTag;
  const [, year = '', month, day, hours, minutes, seconds] = found;
  const century = isUtcTime ? (Number(year) < 50 ? '20' : '19') : '';
  const date = new Date(`${century}${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
  // Date turns 30 February into March, so the time must encode to the same bytes.
  const written = Number.isNaN(date.getTime()) ? undefined : isUtcTime ? time(date) : generalizedTime(date);
  if (written === undefined || Buffer.compare(written, element.raw) !== 0) throw new DerError('nonexistent time', element.start);
  return date;
}
