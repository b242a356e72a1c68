import { shapedLine } from './shaped-line.ts';
import type { Typeface } from './typeface.ts';

/** A text that is broken into lines of any width. Widths are in thousandths of the font size. */
export class BreakableText {
  readonly typefaces: readonly Typeface[];
  readonly #words: readonly { readonly text: string; readonly width: number }[];
  readonly #space: number;

  constructor(text: string, typefaces: readonly Typeface[]) {
    this.typefaces = typefaces;
    this.#words = text
      .split(/\s+/u)
      .filter((word) => word !== '')
      .map((word) => ({ text: word, width: widthOf(word, typefaces) }));
    this.#space = widthOf(' ', typefaces);
  }

  /** Returns its lines. A word that is too long for a line is broken between its letters. */
  lines(widthMax: number): readonly string[] {
    const lines: string[] = [];
    let line: { readonly text: string; readonly width: number } | undefined;
    for (const word of this.#words.flatMap((one) => this.#parts(one, widthMax))) {
      const width = line === undefined ? word.width : line.width + this.#space + word.width;
      if (line !== undefined && width > widthMax) lines.push(line.text);
      line = line === undefined || width > widthMax ? word : { text: `${line.text} ${word.text}`, width };
    }
    return line === undefined ? lines : [...lines, line.text];
  }

  #parts(word: { readonly text: string; readonly width: number }, widthMax: number): { readonly text: string; readonly width: number }[] {
    if (word.width <= widthMax) return [word];
    const letters = Array.from(clusters.segment(word.text), ({ segment }) => segment);
    const parts: { text: string; width: number }[] = [];
    for (let rest = letters; rest.length > 0;) {
      let count = Math.max(1, Math.floor((rest.length * widthMax) / widthOf(rest.join(''), this.typefaces)));
      let part = { text: '', width: Number.POSITIVE_INFINITY };
      for (; count >= 1 && part.width > widthMax; count -= 1) part = measured(rest.slice(0, count).join(''), this.typefaces);
      parts.push(part);
      rest = rest.slice(count + 1);
    }
    return parts;
  }
}

const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });

function measured(text: string, typefaces: readonly Typeface[]): { readonly text: string; readonly width: number } {
  return { text, width: widthOf(text, typefaces) };
}

function widthOf(text: string, typefaces: readonly Typeface[]): number {
  return shapedLine(text, typefaces).width;
}
