import { isUtf8 } from 'node:buffer';
import { JsonError, JsonScanner } from './json-scanner.ts';

export interface JsonLimits {
  /** Values in all, the object itself included; beyond it TooManyValues is thrown. */
  readonly valuesMax: number;
}

/**
 * Reads one JSON object (RFC 8259) from bytes. Refuses what parsers read differently or silently
 * change: bad UTF-8, a byte order mark, duplicate member names, lone surrogates, integer literals
 * beyond ±(2^53 − 1), numbers beyond a double, nesting deeper than 64 (the outermost object is 1).
 * @throws {JsonError}
 */
export function parseStrictJson(bytes: Buffer, { valuesMax }: JsonLimits): Readonly<Record<string, unknown>> {
  checkEncoding(bytes);
  new JsonScanner(bytes, { valuesMax }).document();
  return parseScanned(bytes.toString('utf8'));
}

/** Limits for a token's header or claims, and for the keys that verify it. */
const tokenValuesMax = 5000;

/** The same for what a token holds. @throws {JsonError} */
export function parseTokenJson(bytes: Buffer): Readonly<Record<string, unknown>> {
  return parseStrictJson(bytes, { valuesMax: tokenValuesMax });
}

/** @throws {JsonError} for a byte order mark, and for bytes that are not UTF-8 */
export function checkEncoding(bytes: Buffer): void {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw new JsonError('a byte order mark', 0);
  if (!isUtf8(bytes)) throw new JsonError('not valid UTF-8', firstBadByte(bytes));
}

/** Returns the object in a text that the scanner accepted. */
export function parseScanned(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new JsonError('not an object', 0);
  return value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Doubles its step, so that a bad byte at the start is found at once, and one at the end in about
 * twice the time of a check.
 */
function firstBadByte(bytes: Buffer): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let checked = 0;
  for (let step = bytes.length; step >= 1; step = Math.floor(step / 2)) {
    while (checked + step <= bytes.length && decodes(decoder, bytes.subarray(checked, checked + step))) checked += step;
  }
  return checked;
}

function decodes(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer): boolean {
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
