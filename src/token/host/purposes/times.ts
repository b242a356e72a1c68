import { NotFit, tags, type DerWalk } from './der-walk.ts';

const utcForm = /^\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\dZ$/;
/** UTCTime ends with 2049 (RFC 5280 4.1.2.5). */
const firstLongYear = 50;
const firstGeneralizedTime = '2050';
const dayMs = 86_400_000;

/** The next element, a UTCTime or GeneralizedTime as RFC 5280 4.1.2.5 has them, as 14 digits, which sort by time. @throws {NotFit} */
export function readTime(walk: DerWalk): string {
  if (walk.tag === tags.generalizedTime) {
    const digits = readGeneralizedTime(walk);
    if (digits < firstGeneralizedTime) throw new NotFit('a GeneralizedTime where UTCTime stands');
    return digits;
  }
  const text = textOf(walk.content(tags.utcTime, 'a time'));
  if (!utcForm.test(text)) throw new NotFit('a time in another form than RFC 5280 has');
  return `${Number(text.slice(0, 2)) < firstLongYear ? '20' : '19'}${text.slice(0, 12)}`;
}

/** The same where GeneralizedTime alone may stand (RFC 6960 4.2.2.1). @throws {NotFit} */
export function readGeneralizedTime(walk: DerWalk): string {
  const text = textOf(walk.content(tags.generalizedTime, 'a time'));
  if (!/^\d{4}/.test(text) || !utcForm.test(text.slice(2))) throw new NotFit('a time in another form than RFC 5280 has');
  return text.slice(0, 14);
}

/** Days from one time to another. @throws {NotFit} where the second is not the later one */
export function periodDays(from: string, until: string): number {
  if (until <= from) throw new NotFit('a period that ends before it begins');
  return (millisecondsOf(until) - millisecondsOf(from)) / dayMs;
}

function millisecondsOf(digits: string): number {
  return Date.UTC(Number(digits.slice(0, 4)), Number(digits.slice(4, 6)) - 1, Number(digits.slice(6, 8)));
}

function textOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1');
}
