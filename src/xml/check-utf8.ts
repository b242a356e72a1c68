import { isUtf8 } from 'node:buffer';
import { XmlFault } from './xml-fault.ts';

const characterBytesMax = 4;

/**
 * Checks that pieces together are UTF-8; a character may be cut by their boundaries.
 * @throws {XmlFault} if they are not
 */
export function checkUtf8(pieces: readonly Uint8Array[]): void {
  /** The start of a character that the last piece has not ended. */
  let begun: number[] = [];
  for (const piece of pieces) {
    let start = 0;
    while (begun.length > 0 && start < piece.length) {
      begun.push(piece[start] ?? 0);
      start += 1;
      if (isUtf8(Uint8Array.from(begun))) begun = [];
      else if (begun.length >= characterBytesMax) throw new XmlFault('the document is not in UTF-8');
    }
    const end = endOfLastCharacter(piece, start);
    if (!isUtf8(piece.subarray(start, end))) throw new XmlFault('the document is not in UTF-8');
    begun.push(...piece.subarray(end));
  }
  if (begun.length > 0) throw new XmlFault('the document is not in UTF-8');
}

/**
 * Returns the end of a piece, without the start of a character of several bytes if it ends with
 * one.
 */
function endOfLastCharacter(piece: Uint8Array, start: number): number {
  for (let at = piece.length - 1; at >= Math.max(start, piece.length - characterBytesMax + 1); at -= 1) {
    const byte = piece[at] ?? 0;
    if (byte < 0x80) return piece.length;
    if (byte >= 0xc0) return at + (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > piece.length ? at : piece.length;
  }
  return piece.length;
}
