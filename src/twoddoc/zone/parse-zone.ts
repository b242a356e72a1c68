import { dataIdentifier } from '../tables/data-identifiers.ts';
import { splitHeader, type ZoneHeader } from './header.ts';
import { groupSeparator, recordSeparator } from './notation.ts';

/** A field with its value as it is in the zone. */
export interface ZoneField {
  readonly id: string;
  readonly value: string;
  /** Whether the value was cut. */
  readonly truncated: boolean;
}

export interface ParsedFields {
  readonly fields: readonly ZoneField[];
  /** From the first place that is not a field; absent if all was read. */
  readonly unread?: string;
}

export interface ParsedZone extends ParsedFields {
  readonly header: ZoneHeader;
}

/**
 * Reads a zone of any maker, versions 01 to 04, without the signature. It is lenient: no rule of
 * the tables is checked; a separator may follow any field, and an identifier may be unknown, whose
 * value then reaches to the next separator.
 * @throws {TwoDDocFault} for bytes that do not start with a header
 */
export function parseZone(bytes: Uint8Array): ParsedZone {
  const { header, message } = splitHeader(textOf(bytes));
  return { header, ...parseFields(message) };
}

/**
 * Reads the fields of an annex, which follow the signature and a separator, as leniently as
 * `parseZone`.
 */
export function parseAnnex(bytes: Uint8Array): ParsedFields {
  return parseFields(textOf(bytes));
}

/** Returns the text of bytes, each of which is a character. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function parseFields(text: string): ParsedFields {
  const fields: ZoneField[] = [];
  for (let at = 0; at < text.length;) {
    const id = text.slice(at, at + 2);
    if (!/^[0-9A-Z]{2}$/.test(id)) return { fields, unread: text.slice(at) };
    const end = valueEnd(text, at + 2, id);
    const separator = text[end];
    const truncated = separator === recordSeparator;
    fields.push({ id, value: text.slice(at + 2, end), truncated });
    at = truncated || separator === groupSeparator ? end + 1 : end;
  }
  return { fields };
}

function valueEnd(text: string, start: number, id: string): number {
  const identifier = dataIdentifier(id);
  const longest = identifier?.maxLength ?? text.length;
  const end = Math.min(text.length, start + longest);
  for (let at = start; at < end; at += 1) if (text[at] === groupSeparator || text[at] === recordSeparator) return at;
  return end;
}
