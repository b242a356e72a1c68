/**
 * Runs in a work thread: checks a big body, decodes its long texts in place, and gives back what is
 * left as a small value.
 */
import { randomBytes } from 'node:crypto';
import { JsonError, JsonScanner, TooManyValues, type StringSpan } from './json-scanner.ts';
import { decodeInPlace, isBase64 } from './strict-base64.ts';
import { checkEncoding, parseScanned } from './strict-json.ts';
import { sharedMemory } from '../../service/shared-memory.ts';

/** Strings from here on may be taken out of the value. */
const longBytes = 1024;
/** What goes back as ordinary text: the main thread takes it apart, so it is little. */
const plainMaxBytes = 512 * 1024;
const plainTextMaxBytes = 128 * 1024;
const nameShownCharacters = 64;

export interface BigJsonTask {
  /** The body, in order. */
  readonly pieces: readonly SharedArrayBuffer[];
  readonly length: number;
  readonly valuesMax: number;
  /** Members whose text is content as it is, whatever it looks like. */
  readonly textMembers: readonly string[];
}

export interface LongPiece {
  readonly path: readonly (string | number)[];
  readonly kind: 'base64' | 'text';
  readonly start: number;
  readonly length: number;
}

export type BigJsonResult =
  | {
      readonly value: Readonly<Record<string, unknown>>;
      /** Where the long texts are; absent: in the only piece of the body. */
      readonly memory?: SharedArrayBuffer;
      readonly long: readonly LongPiece[];
    }
  | { readonly fault: { readonly message: string; readonly position: number; readonly tooMany: boolean } };

export function readBigJson(task: BigJsonTask): BigJsonResult {
  const bytes = joined(task);
  try {
    checkEncoding(bytes);
    const spans: StringSpan[] = [];
    const found = (span: StringSpan): boolean => {
      spans.push(span);
      return false;
    };
    new JsonScanner(bytes, { valuesMax: task.valuesMax, long: { minBytes: longBytes, found } }).document();
    const mark = randomBytes(16).toString('hex');
    const { text, taken } = withoutLong(bytes, spans, mark);
    const value = parseScanned(text);
    const long = placesOf(value, mark).map(({ path, index }) => decoded(bytes, taken[index], path, task.textMembers));
    return bytes.buffer === task.pieces[0] ? { value, long } : { value, memory: bytes.buffer, long };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { fault: { message: error.message, position: error.position, tooMany: error instanceof TooManyValues } };
  }
}

function joined({ pieces, length }: BigJsonTask): Buffer<SharedArrayBuffer> {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return Buffer.from(first, 0, length);
  const whole = Buffer.from(sharedMemory(length));
  let offset = 0;
  for (const piece of pieces) {
    const part = Buffer.from(piece, 0, Math.min(piece.byteLength, length - offset));
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/**
 * The body's text with a mark for each string that is long: the first ones stay, as far as there is
 * room for them.
 */
function withoutLong(bytes: Buffer, spans: readonly StringSpan[], mark: string): { text: string; taken: StringSpan[] } {
  let room = plainMaxBytes;
  const taken: StringSpan[] = [];
  const parts: string[] = [];
  let offset = 0;
  for (const span of spans) {
    const length = span.end - span.start;
    if (!span.isName && length <= plainTextMaxBytes && length <= room) {
      room -= length;
      continue;
    }
    parts.push(bytes.toString('utf8', offset, span.start));
    offset = span.end;
    if (span.isName) {
      // No field has such a name; its beginning is all that its refusal shows.
      parts.push(JSON.stringify(`${textAt(bytes, span).slice(0, nameShownCharacters).toWellFormed()}…`));
    } else {
      parts.push(`"${mark}${taken.length}"`);
      taken.push(span);
    }
  }
  parts.push(bytes.toString('utf8', offset));
  return { text: parts.join(''), taken };
}

function textAt(bytes: Buffer, { start, end }: StringSpan): string {
  return String(JSON.parse(bytes.toString('utf8', start, end)));
}

interface MarkedPlace {
  readonly path: readonly (string | number)[];
  readonly index: number;
}

/** Where the marks are. Nobody can have guessed them. */
function placesOf(value: unknown, mark: string, path: readonly (string | number)[] = []): MarkedPlace[] {
  if (typeof value === 'string') return value.startsWith(mark) ? [{ path, index: Number(value.slice(mark.length)) }] : [];
  if (Array.isArray(value)) return value.flatMap((element, index) => placesOf(element, mark, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => placesOf(member, mark, [...path, name]));
}

function decoded(bytes: Buffer, span: StringSpan | undefined, path: MarkedPlace['path'], textMembers: readonly string[]): LongPiece {
  if (span === undefined) throw new Error('a mark that was not set');
  const start = span.start + 1;
  let end = span.end - 1;
  // Without its escapes a text is never longer, so it fits where it was.
  if (bytes.subarray(start, end).includes(0x5c)) end = start + bytes.write(textAt(bytes, span), start, 'utf8');
  const content = bytes.subarray(start, end);
  const name = path.at(-1);
  const isText = typeof name === 'string' && textMembers.includes(name);
  if (isText || !isBase64(content)) return { path, kind: 'text', start, length: content.length };
  return { path, kind: 'base64', start, length: decodeInPlace(content) };
}
