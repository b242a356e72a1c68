import { generalizedTime, time } from './times.ts';
import { DerError } from './reader.ts';
import type { DerElement } from './reader.ts';

const utcTimeTag = 0x17;

/**
 * Reads a UTCTime or GeneralizedTime as RFC 5280 4.1.2.5 has it: seconds present, no fractions, `Z`. Throws a DerError for
 * any other form, and for a time that does not exist.
 */
export function readTime(element: DerElement): Date {
  const text = Buffer.from(element.content).toString('latin1');
  const found = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text);
  if (found === null) throw new DerError('not a time of RFC 5280', element.start);
  const isUtcTime = element.tag === utcTimeTag;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = found.slice(1).map(Number);
  const century = year < 50 ? 2000 : 1900;
  const date = new Date(Date.UTC(isUtcTime ? year + century : year, month - 1, day, hours, minutes, seconds));
  // Date.UTC carries a 30 February over into March: what was read must be what would be written.
  const written = isUtcTime ? time(date) : generalizedTime(date);
  if (Buffer.compare(written, element.raw) !== 0) throw new DerError('a time that does not exist, or in another form', element.start);
  return date;
}
