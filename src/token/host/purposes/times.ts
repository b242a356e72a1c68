import { NotFit, tags, type DerWalk } from './der-walk.ts';

const utcForm = /^\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\dZ$/;
/** UTCTime covers years up to 2049 (RFC 5280 4.1.2.5). */
const firstLongYear = 50;
const firstGeneralizedTime = '2050';
const dayMs = 86_400_000;

/**
 * Reads the next element, a UTCTime or GeneralizedTime (RFC 5280 4.1.2.5), as 14 digits, which sort
 * by time.
 * @throws {NotFit}
 */
export function readTime(walk: DerWalk): string {
  if (walk.tag === tags.generalizedTime) {
    const digits = readGeneralizedTime(walk);
    if (digits < firstGeneralizedTime) throw new NotFit('a GeneralizedTime is used where UTCTime is required');
    return digits;
  }
  const text = textOf(walk.content(tags.utcTime, 'a time'));
  if (!utcForm.test(text)) throw new NotFit('a time does not have the form of RFC 5280');
  return `${Number(text.slice(0, 2)) < firstLongYear ? '20' : '19'}${text.slice(0, 12)}`;
}

/**
 * Reads the next element, which must be a GeneralizedTime (RFC 6960 4.2.2.1), as 14 digits.
 * @throws {NotFit}
 */
export function readGeneralizedTime(walk: DerWalk): string {
  const text = textOf(walk.content(tags.generalizedTime, 'a time'));
  if (!/^\d{4}/.test(text) || !utcForm.test(text.slice(2))) throw new NotFit('a time does not have the form of RFC 5280');
  return text.slice(0, 14);
}

/** Returns the days between two times. @throws {NotFit} if the second is not later */
export function periodDays(from: string, until: string): number {
  if (until <= from) throw new NotFit('a period ends before it begins');
  return (millisecondsOf(until) - millisecondsOf(from)) / dayMs;
}

function millisecondsOf(digits: string): number {
  return Date.UTC(Number(digits.slice(0, 4)), Number(digits.slice(4, 6)) - 1, Number(digits.slice(6, 8)));
}

function textOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1');
}
