import { isRegular, isSpace } from './characters.ts';
import { isArray, PdfStream, type PdfObject } from './objects.ts';
import type { PdfFile } from './pdf-file.ts';

/** How the operators q and Q of a content are out of balance (ISO 32000-2, 8.4.2). */
export interface Imbalance {
  /** Graphics states that it restores without having saved them. */
  readonly restored: number;
  /** Graphics states that it saves and does not restore. */
  readonly saved: number;
}

/** Of all streams of a page together. */
const contentMaxBytes = 64 * 1024 * 1024;

/**
 * Returns the imbalance of the content of a page.
 * @throws {PdfFault} for streams that cannot be read
 */
export function imbalanceOf(file: PdfFile, contents: PdfObject): Imbalance {
  const found = file.resolved(contents);
  const streams = (isArray(found) ? found : [found]).map((one) => file.resolved(one)).filter((one) => one instanceof PdfStream);
  const parts: Uint8Array[] = [];
  let left = contentMaxBytes;
  for (const stream of streams) {
    const part = file.content(stream, left);
    left -= part.length;
    parts.push(part, Buffer.from('\n'));
  }
  return balanceOf(Buffer.concat(parts));
}

function balanceOf(bytes: Buffer): Imbalance {
  let [restored, saved] = [0, 0];
  for (let at = 0; at < bytes.length;) {
    const byte = bytes[at];
    if (byte === 0x28) at = stringEnd(bytes, at);
    else if (byte === 0x25) at = endOf(bytes, at, (one) => one === 0x0a || one === 0x0d);
    else if (byte === 0x3c) at = bytes[at + 1] === 0x3c ? at + 2 : endOf(bytes, at, (one) => one === 0x3e);
    else if (byte === 0x2f) at = endOf(bytes, at + 1, (one) => !isRegular(one));
    else if (isRegular(byte)) {
      const end = endOf(bytes, at, (one) => !isRegular(one));
      const word = bytes.toString('latin1', at, Math.min(end, at + 3));
      at = end;
      if (word === 'q') saved += 1;
      else if (word === 'Q' && saved > 0) saved -= 1;
      else if (word === 'Q') restored += 1;
      else if (word === 'ID') at = imageEnd(bytes, at);
    } else at += 1;
  }
  return { restored, saved };
}

function endOf(bytes: Buffer, from: number, isEnd: (byte: number | undefined) => boolean): number {
  let at = from;
  while (at < bytes.length && !isEnd(bytes[at])) at += 1;
  return at;
}

function stringEnd(bytes: Buffer, start: number): number {
  let open = 0;
  for (let at = start; at < bytes.length; at += 1) {
    if (bytes[at] === 0x5c) at += 1;
    else if (bytes[at] === 0x28) open += 1;
    else if (bytes[at] === 0x29) {
      open -= 1;
      if (open === 0) return at + 1;
    }
  }
  return bytes.length;
}

/** Returns the end of the data of an inline image: EI between white space (8.9.7). */
function imageEnd(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf('EI', start); at >= 0; at = bytes.indexOf('EI', at + 2))
    if (isSpace(bytes[at - 1]) && !isRegular(bytes[at + 2])) return at + 2;
  return bytes.length;
}
