import bidiFactory from 'bidi-js/dist/bidi.mjs';
import type { Glyph } from 'fontkit';
import type { Typeface } from './typeface.ts';

/** A glyph in its place. Lengths are in thousandths of the font size. */
export interface PlacedGlyph {
  readonly glyph: Glyph;
  /** From this glyph's origin to that of the next one. */
  readonly advance: number;
  readonly offsetX: number;
  readonly offsetY: number;
}

/** Glyphs of one typeface beside each other. */
export interface GlyphRun {
  readonly typeface: Typeface;
  readonly glyphs: readonly PlacedGlyph[];
}

/** A line of text as it is seen, from left to right. */
export interface ShapedLine {
  readonly runs: readonly GlyphRun[];
  /** In thousandths of the font size. */
  readonly width: number;
}

/** Shown for a character that no typeface has. */
const unknownCharacter = '\u25a1';
const bidi = bidiFactory();
const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });
/** Characters that are never seen: joiners, marks of direction, selectors of variants. */
const invisible = /^\p{Default_Ignorable_Code_Point}$/u;

/**
 * Shapes a line of text: chooses the first typeface that has a character, orders parts that are
 * written from right to left (UAX 9), and joins and kerns letters as the typefaces say.
 */
export function shapedLine(text: string, typefaces: readonly Typeface[]): ShapedLine {
  const lines = known.get(typefaces) ?? new Map<string, ShapedLine>();
  known.set(typefaces, lines);
  const line = lines.get(text) ?? newLine(text, typefaces);
  if (lines.size >= knownMax) lines.clear();
  if (text.length <= knownMaxCharacters) lines.set(text, line);
  return line;
}

/** Names and labels come again and again. */
const known = new WeakMap<readonly Typeface[], Map<string, ShapedLine>>();
const knownMax = 500;
const knownMaxCharacters = 64;

function newLine(text: string, typefaces: readonly Typeface[]): ShapedLine {
  const runs = visualOrder(logicalRuns(oneLine(text), typefaces)).map(glyphRun);
  return { runs, width: runs.reduce((total, { glyphs }) => total + glyphs.reduce((sum, { advance }) => sum + advance, 0), 0) };
}

/**
 * Characters that turn the direction of others, with which a name can look like another one, and
 * soft hyphens.
 */
const directionMarks = /[\u00ad\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Control characters would have glyphs of their own; many marks on one letter cover other lines.
 */
function oneLine(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
    .replaceAll(directionMarks, '')
    .replaceAll(/(\p{M}{3})\p{M}+/gu, '$1');
}

interface LogicalRun {
  readonly typeface: Typeface;
  /** Embedding level: odd from right to left. */
  readonly level: number;
  readonly text: string;
}

function logicalRuns(text: string, typefaces: readonly Typeface[]): LogicalRun[] {
  const levels = bidi.getEmbeddingLevels(text, undefined).levels;
  const runs: LogicalRun[] = [];
  for (const { segment, index } of clusters.segment(text)) {
    const level = levels[index] ?? 0;
    const mirrored = level % 2 === 1 ? (bidi.getMirroredCharacter(segment) ?? segment) : segment;
    const found = typefaces.find((one) => has(one, mirrored));
    const typeface = found ?? typefaces.at(-1);
    if (typeface === undefined) throw new Error('a text has a typeface');
    const shown = found === undefined ? unknownCharacter : mirrored;
    const last = runs.at(-1);
    // A space goes with what is before it, so that words of one script are shaped together.
    const joins =
      last !== undefined && last.level === level && (last.typeface === typeface || (segment === ' ' && has(last.typeface, ' ')));
    if (joins) runs[runs.length - 1] = { ...last, text: last.text + shown };
    else runs.push({ typeface, level, text: shown });
  }
  return runs;
}

/**
 * Returns the first character of a text, with its marks, that would be shown as a box: none of the
 * typefaces has it.
 */
export function missingCharacter(text: string, typefaces: readonly Typeface[]): string | undefined {
  for (const { segment } of clusters.segment(oneLine(text))) if (!typefaces.some((one) => has(one, segment))) return segment;
  return undefined;
}

function has({ font }: Typeface, cluster: string): boolean {
  return Array.from(cluster).every((one) => invisible.test(one) || font.hasGlyphForCodePoint(one.codePointAt(0) ?? 0));
}

/** UAX 9, rule L2: reverses parts of higher levels within those of lower ones. */
function visualOrder(runs: readonly LogicalRun[]): LogicalRun[] {
  const ordered = [...runs];
  const highest = Math.max(0, ...runs.map(({ level }) => level));
  for (let level = highest; level >= 1; level -= 1) {
    for (let start = 0; start < ordered.length; start += 1) {
      let end = start;
      while ((ordered[end]?.level ?? -1) >= level) end += 1;
      if (end > start) ordered.splice(start, end - start, ...ordered.slice(start, end).toReversed());
      start = Math.max(start, end);
    }
  }
  return ordered;
}

function isSeen({ glyph: { id, codePoints }, advance }: PlacedGlyph): boolean {
  const isInvisible = id === 0 && codePoints.every((one) => invisible.test(String.fromCodePoint(one)));
  return !isInvisible && (advance !== 0 || codePoints.join() !== '32');
}

function glyphRun({ typeface, level, text }: LogicalRun): GlyphRun {
  const { glyphs, positions } = typeface.font.layout(text, undefined, undefined, undefined, level % 2 === 1 ? 'rtl' : 'ltr');
  const scale = 1000 / typeface.font.unitsPerEm;
  const placed = glyphs.map((glyph, index): PlacedGlyph => {
    const { xAdvance = glyph.advanceWidth, xOffset = 0, yOffset = 0 } = positions[index] ?? {};
    return { glyph, advance: xAdvance * scale, offsetX: xOffset * scale, offsetY: yOffset * scale };
  });
  // Invisible characters have become spaces without a width.
  return { typeface, glyphs: placed.filter(isSeen) };
}
