import type { EngineError } from './engine.ts';

/**
 * Thrown for bytes that are not the expected XML. `line` and `column` count from 1; a column is a
 * character (code point), and a byte order mark is none.
 */
export class XmlFault extends Error {
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(message: string, place?: { readonly line: number; readonly column: number }) {
    super(place === undefined ? message : `${message} (line ${place.line}, column ${place.column})`);
    this.name = 'XmlFault';
    this.line = place?.line;
    this.column = place?.column;
  }
}

/** Thrown where a document needs more than this service gives it: it may be right. */
export class XmlLimitFault extends XmlFault {}

/** Returns the fault for the first error, since the ones that follow are often its consequences. */
export function parseFault(error: EngineError | undefined): XmlFault {
  if (error === undefined) return new XmlFault('the document cannot be read');
  const place = error.line > 0 ? { line: error.line, column: Math.max(1, error.column) } : undefined;
  return new XmlFault(`the document is not well-formed XML: ${error.message}`, place);
}

/**
 * Returns the fault at an offset of a document, which consists of pieces. Lines end as in XML 1.0,
 * 2.11: at a line feed, at a carriage return, or at both together.
 */
export function xmlFaultAt(pieces: readonly Uint8Array[], offset: number, message: string): XmlFault {
  let line = 1;
  let column = 1;
  let left = offset;
  let previous = 0;
  let skip = byteOrderMarkLength(pieces);
  for (const piece of pieces) {
    const end = Math.min(left, piece.length);
    for (let index = 0; index < end; index += 1) {
      const byte = piece[index] ?? 0;
      if (skip > 0) {
        skip -= 1;
      } else if (byte === 0x0d || (byte === 0x0a && previous !== 0x0d)) {
        line += 1;
        column = 1;
      } else if (byte !== 0x0a && (byte & 0xc0) !== 0x80) {
        column += 1;
      }
      previous = byte;
    }
    left -= end;
    if (left === 0) break;
  }
  return new XmlFault(message, { line, column });
}

/** Returns 3 if a document starts with the byte order mark of UTF-8, otherwise 0. */
export function byteOrderMarkLength(pieces: readonly Uint8Array[]): number {
  const mark = [0xef, 0xbb, 0xbf];
  let found = 0;
  for (const piece of pieces) {
    for (let index = 0; index < piece.length && found < mark.length; index += 1, found += 1) if (piece[index] !== mark[found]) return 0;
    if (found === mark.length) return found;
  }
  return 0;
}

const quotedMax = 100;

/** Returns a text of the document for a message, cut if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= quotedMax ? text : `${text.slice(0, quotedMax)}…`);
}
