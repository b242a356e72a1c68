import { randomBytes } from 'node:crypto';
import { LongText } from '../../documents/long-text.ts';
import { JsonScanner, type StringSpan } from './json-scanner.ts';
import { decodeBase64 } from './strict-base64.ts';
import { checkEncoding, parseScanned, type JsonLimits } from './strict-json.ts';

/** The member with the content of a document (interface, document). */
const contentMember = 'base64Value';
/** From here on, a string costs more than to keep its bytes apart. */
const longBytes = 4096;
/** Nobody outside knows it, so no string of a request begins with it. */
const mark = randomBytes(16).toString('hex');

interface Decoded {
  readonly span: StringSpan;
  readonly bytes: Buffer;
}

/**
 * Reads a small body as `parseStrictJson` does, on the event loop. Long content in base64 comes
 * decoded, as LongText, and never becomes a string: the engine keeps each string beyond 128 KiB in
 * pages of its own, which cost more than all else that is done to it.
 * @throws {JsonError}
 */
export function parseSmallJson(bytes: Buffer, { valuesMax }: JsonLimits): Readonly<Record<string, unknown>> {
  checkEncoding(bytes);
  const contents: Decoded[] = [];
  const found = (span: StringSpan): boolean => {
    if (span.member !== contentMember) return false;
    // With an escape in it, which JSON.parse resolves, it is no base64 here.
    const decoded = decodeBase64(bytes.subarray(span.start + 1, span.end - 1));
    if (decoded === undefined) return false;
    contents.push({ span, bytes: decoded });
    return true;
  };
  new JsonScanner(bytes, { valuesMax, long: { minBytes: longBytes, found } }).document();
  const value = parseScanned(withoutContents(bytes, contents));
  if (contents.length > 0) putContents(value, contents);
  return value;
}

/** Returns the text of the body with a mark for each content. */
function withoutContents(bytes: Buffer, contents: readonly Decoded[]): string {
  let text = '';
  let offset = 0;
  for (const [index, { span }] of contents.entries()) {
    text += `${bytes.toString('utf8', offset, span.start)}"${mark}${index}"`;
    offset = span.end;
  }
  return text + bytes.toString('utf8', offset);
}

/** Replaces the marks in an object or a list. */
function putContents(holder: object, contents: readonly Decoded[]): void {
  for (const [name, member] of Object.entries(holder) as [string, unknown][]) {
    if (typeof member === 'object' && member !== null) putContents(member, contents);
    if (name !== contentMember || typeof member !== 'string' || !member.startsWith(mark)) continue;
    const content = contents[Number(member.slice(mark.length))];
    if (content === undefined) throw new Error('a mark that was not set');
    Reflect.set(holder, name, new LongText('base64', content.bytes));
  }
}
