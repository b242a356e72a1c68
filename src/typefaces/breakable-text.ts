import { shapedLine } from './shaped-line.ts';
import type { Typeface } from './typeface.ts';

/**
 * A part of a text that is not broken, if it has room. Widths are in thousandths of the font size.
 */
interface Part {
  readonly text: string;
  readonly width: number;
  /** A space is before it. */
  readonly isWord: boolean;
}

/** Lines of a text. */
export interface BrokenText {
  readonly lines: readonly string[];
  /** A part that has no room in a line was broken between its letters. */
  readonly isTorn: boolean;
}

/** Spaces at which a text is broken: all but those that say otherwise. */
const spaces = /[^\S\u00a0\u202f\u2007]+/u;
const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * A text that is broken into lines of any width: at spaces, and behind hyphens. It is measured
 * once.
 */
export class BreakableText {
  readonly typefaces: readonly Typeface[];
  readonly #parts: readonly Part[];
  readonly #space: number;

  constructor(text: string, typefaces: readonly Typeface[]) {
    this.typefaces = typefaces;
    this.#parts = text
      .split(spaces)
      .filter((word) => word !== '')
      .flatMap((word) =>
        word
          .split(/(?<=[\p{L}\p{N}]-)(?=[\p{L}\p{N}])/u)
          .map((part, index) => ({ text: part, width: widthOf(part, typefaces), isWord: index === 0 })),
      );
    this.#space = widthOf(' ', typefaces);
  }

  broken(widthMax: number): BrokenText {
    const lines: string[] = [];
    let isTorn = false;
    let line: { readonly text: string; readonly width: number } | undefined;
    for (const part of this.#parts) {
      const fits = part.width <= widthMax;
      if (!fits) isTorn = true;
      for (const piece of fits ? [part] : this.#torn(part, widthMax)) {
        const gap = piece.isWord ? this.#space : 0;
        const width = (line === undefined ? 0 : line.width + gap) + piece.width;
        if (line !== undefined && width > widthMax) lines.push(line.text);
        line = line === undefined || width > widthMax ? piece : { text: `${line.text}${piece.isWord ? ' ' : ''}${piece.text}`, width };
      }
    }
    return { lines: line === undefined ? lines : [...lines, line.text], isTorn };
  }

  /** Letters are measured one by one, which is as wide as they are together, but for kerning. */
  #torn({ text, isWord }: Part, widthMax: number): readonly Part[] {
    const pieces: Part[] = [];
    let piece: Part = { text: '', width: 0, isWord };
    for (const { segment } of clusters.segment(text)) {
      const width = widthOf(segment, this.typefaces);
      if (piece.text !== '' && piece.width + width > widthMax) {
        pieces.push(piece);
        piece = { text: '', width: 0, isWord: false };
      }
      piece = { ...piece, text: piece.text + segment, width: piece.width + width };
    }
    return [...pieces, piece];
  }
}

function widthOf(text: string, typefaces: readonly Typeface[]): number {
  return shapedLine(text, typefaces).width;
}
