import type { Area, Colour, DrawnText } from '../../../pdf/drawing.ts';
import { shapedLine } from '../../../typefaces/shaped-line.ts';
import type { Typeface } from '../../../typefaces/typeface.ts';
import { BreakableText } from '../../../typefaces/breakable-text.ts';
import type { Label } from './shown-text.ts';

/** A paragraph of a block of text. */
export interface Paragraph {
  readonly label: Label | undefined;
  readonly text: string;
  readonly typefaces: readonly Typeface[];
}

export interface BlockStyle {
  readonly colour: Colour;
  readonly labelColour: Colour;
  readonly labelTypefaces: readonly Typeface[];
  /** In 1/72 inch: the largest font size, used if everything has room. */
  readonly fontSizeMax: number;
  /** The text may be a little smaller than it has room, so that it has fewer lines. */
  readonly mayShrink: boolean;
  readonly alignment: 'LEFT' | 'CENTRE';
}

/** Below this, text is no longer read; what has no room then is cut. */
const fontSizeMin = 4;
const sizeStep = 0.94;
/** About a fifth of the size. */
const shrinkSteps = 5;
/** Distances in parts of the font size. */
const leading = 1.22;
const paragraphGap = 0.14;
/** Parts of the first line above its base line, and of the last one below. */
const above = 0.74;
const below = 0.21;
const labelGap = 0.7;
/**
 * Values beside their labels need at least this part of the width; otherwise a label is before its
 * value.
 */
const valueShareMin = 0.55;

/** A line with what is drawn at its beginning. */
interface Row {
  readonly label: string | undefined;
  readonly text: string;
  readonly typefaces: readonly Typeface[];
  /** In parts of the font size. */
  readonly indent: number;
  /** Distance to the row before, if there is one, in parts of the font size. */
  readonly step: number;
}

/** Returns paragraphs as lines that fill an area at most, centred from top to bottom. */
export function textBlock(paragraphs: readonly Paragraph[], area: Area, style: BlockStyle): readonly DrawnText[] {
  if (paragraphs.length === 0) return [];
  const measured = paragraphs.map((paragraph) => ({ ...paragraph, breakable: breakableOf(paragraph) }));
  const labelWidth = Math.max(
    0,
    ...measured.map(({ label }) => (label === undefined ? 0 : shapedLine(label.beside, style.labelTypefaces).width / 1000)),
  );
  const sizes = sizesFrom(Math.min(style.fontSizeMax, area.height));
  const layouts = sizes.map((fontSize): Layout => ({ fontSize, ...rowsOf(measured, labelWidth, area.width / fontSize) }));
  const fitting = layouts.filter(({ rows, fontSize }) => heightOf(rows) * fontSize <= area.height);
  const [smallest] = layouts.slice(-1);
  // Words that are torn are worse than small ones.
  const whole = fitting.filter(({ isTorn }) => !isTorn);
  const choices = (whole.length > 0 ? whole : fitting).slice(0, style.mayShrink ? shrinkSteps : 1);
  // A little smaller is better than a date in two lines.
  const [best] = choices.toSorted((one, other) => one.rows.length - other.rows.length);
  if (best !== undefined) return drawn(best.rows, area, best.fontSize, style);
  return smallest === undefined ? [] : drawn(cut(smallest.rows, area, smallest.fontSize), area, smallest.fontSize, style);
}

interface Layout {
  readonly fontSize: number;
  readonly rows: readonly Row[];
  /** A word has no room in a line. */
  readonly isTorn: boolean;
}

/** Returns sizes from the largest one down. */
function sizesFrom(fontSizeMax: number): readonly number[] {
  const sizes: number[] = [];
  for (let size = fontSizeMax; size > fontSizeMin; size *= sizeStep) sizes.push(size);
  return [...sizes, Math.min(fontSizeMax, fontSizeMin)];
}

type Measured = Paragraph & { readonly breakable: { readonly beside: BreakableText; readonly inline: BreakableText } };

function breakableOf({ label, text, typefaces }: Paragraph): Measured['breakable'] {
  const beside = new BreakableText(text, typefaces);
  return { beside, inline: label === undefined ? beside : new BreakableText(`${label.inline}${text}`, typefaces) };
}

/** `width`: in parts of the font size. */
function rowsOf(paragraphs: readonly Measured[], labelWidth: number, width: number): Omit<Layout, 'fontSize'> {
  const column = labelWidth + labelGap;
  const isBeside = labelWidth > 0 && width - column >= width * valueShareMin;
  let isAnyTorn = false;
  const rows = paragraphs.flatMap(({ label, typefaces, breakable }) => {
    const indent = isBeside && label !== undefined ? column : 0;
    const { lines, isTorn } = (isBeside ? breakable.beside : breakable.inline).broken((width - indent) * 1000);
    if (isTorn) isAnyTorn = true;
    return lines.map((text, line) => ({
      ...{ text, typefaces, indent },
      label: isBeside && line === 0 ? label?.beside : undefined,
      step: leading + (line === 0 ? paragraphGap : 0),
    }));
  });
  return { rows, isTorn: isAnyTorn };
}

/** In parts of the font size. */
function heightOf(rows: readonly Row[]): number {
  return above + below + rows.slice(1).reduce((total, { step }) => total + step, 0);
}

/** Leaves out rows that have no room, and says so by an ellipsis. */
function cut(rows: readonly Row[], area: Area, fontSize: number): readonly Row[] {
  let count = rows.length;
  while (count > 1 && heightOf(rows.slice(0, count)) * fontSize > area.height) count -= 1;
  const last = rows[count - 1];
  if (count === rows.length || last === undefined) return rows;
  return [...rows.slice(0, count - 1), { ...last, text: `${last.text.slice(0, -2)}…` }];
}

function drawn(rows: readonly Row[], area: Area, fontSize: number, style: BlockStyle): readonly DrawnText[] {
  const spare = area.height - heightOf(rows) * fontSize;
  let y = area.y + area.height - spare / 2 - above * fontSize;
  return rows.flatMap(({ label, text, typefaces, indent, step }, index) => {
    if (index > 0) y -= step * fontSize;
    const line = shapedLine(text, typefaces);
    const free = area.width - (line.width * fontSize) / 1000;
    const x = area.x + (style.alignment === 'CENTRE' ? free / 2 : indent * fontSize);
    const value = { line, x, y, fontSize, colour: style.colour };
    if (label === undefined) return [value];
    return [{ line: shapedLine(label, style.labelTypefaces), x: area.x, y, fontSize, colour: style.labelColour }, value];
  });
}
