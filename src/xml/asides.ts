import type { CanonicalRun } from './canonical-run.ts';
import { checkCharacters } from './character-data.ts';
import { afterSpace, isSpace, Malformed, nameBytes, nameStartBytes } from './markup-bytes.ts';
import type { PieceWindow } from './piece-window.ts';

/**
 * Where a comment or a processing instruction stands: outside the root, a line feed separates it.
 */
type Place = 'before the root' | 'in the root' | 'behind the root';

/**
 * Reads comments and processing instructions. Each method takes the offset of one, and returns the
 * offset behind it: the same one if it extends beyond the window.
 */
export class Asides {
  readonly #window: PieceWindow;
  readonly #run: CanonicalRun;

  constructor(window: PieceWindow, run: CanonicalRun) {
    this.#window = window;
    this.#run = run;
  }

  comment(at: number, place: Place): number {
    const { bytes } = this.#window;
    const dashes = bytes.indexOf('--', at + 4);
    if (dashes < 0 || dashes + 2 >= bytes.length) return at;
    if (bytes[dashes + 2] !== 0x3e) throw new Malformed('a comment contains --', dashes);
    checkCharacters(bytes, at + 4, dashes);
    this.#write(at, dashes + 3, undefined, place, true);
    return dashes + 3;
  }

  instruction(at: number, place: Place): number {
    const { bytes } = this.#window;
    const close = bytes.indexOf('?>', at + 2);
    if (close < 0) return at;
    let targetEnd = at + 2;
    while (targetEnd < close && nameBytes[bytes[targetEnd] ?? 0] === 1) targetEnd += 1;
    const target = bytes.toString('latin1', at + 2, targetEnd);
    // Namespaces in XML 1.0, 7: no colon.
    if (nameStartBytes[bytes[at + 2] ?? 0] === 0 || target.includes(':') || (targetEnd < close && !isSpace(bytes[targetEnd])))
      throw new Malformed('a processing instruction has no target', at);
    if (target.toLowerCase() === 'xml') throw new Malformed('a processing instruction has the target xml', at);
    checkCharacters(bytes, targetEnd, close);
    this.#write(at, close + 2, canonicalInstruction(bytes, at, targetEnd, close), place, false);
    return close + 2;
  }

  /** Writes an aside; `canonical` instead of what stands there, if it differs. */
  #write(at: number, end: number, canonical: Buffer | undefined, place: Place, isComment: boolean): void {
    const { active } = this.#run;
    const form = canonical ?? this.#window.bytes.subarray(at, end);
    const hasReturns = form.includes(0x0d);
    const isForAll = !isComment || active.every(({ keepsComments }) => keepsComments);
    if (place === 'in the root' && canonical === undefined && !hasReturns && isForAll) return;
    this.#run.end(at, end);
    const written = hasReturns ? Buffer.from(form.toString('latin1').replace(/\r\n?/g, '\n'), 'latin1') : form;
    for (const { keepsComments, output } of active) {
      if (isComment && !keepsComments) continue;
      if (place === 'behind the root') output.byte(0x0a);
      output.bytes(written);
      if (place === 'before the root') output.byte(0x0a);
    }
  }
}

/** Returns an instruction with one space before its data, if it stands there in another way. */
function canonicalInstruction(bytes: Buffer, at: number, targetEnd: number, close: number): Buffer | undefined {
  const dataStart = afterSpace(bytes, targetEnd, close);
  if (dataStart === targetEnd || (dataStart === targetEnd + 1 && bytes[targetEnd] === 0x20 && dataStart < close)) return undefined;
  const space = Buffer.from(dataStart < close ? ' ' : '');
  return Buffer.concat([bytes.subarray(at, targetEnd), space, bytes.subarray(dataStart, close + 2)]);
}
