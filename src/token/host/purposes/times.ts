import { NotFit, tags, type DerWalk } from './der-walk.ts';

const utcForm = /^\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\dZ$/;
/** UTCTime ends with 2049 (RFC 5280 4.1.2.5). */
const firstLongYear = 50;

/** The next element, a UTCTime or GeneralizedTime as RFC 5280 4.1.2.5 has them, as 14 digits, which sort by time. @throws {NotFit} */
export function readTime(walk: DerWalk): string {
  if (walk.tag === tags.generalizedTime) return readGeneralizedTime(walk);
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

/** @throws {NotFit} where it ends before it begins, or at once */
export function checkPeriod(from: string, until: string): void {
  if (until <= from) throw new NotFit('a period that ends before it begins');
}

function textOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.length).toString('latin1');
}
