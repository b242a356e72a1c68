import type { Picture } from '../../../image/picture.ts';
import { type Area, type Colour, Drawing, type DrawnText } from '../../../pdf/drawing.ts';
import type { PdfObject, PdfReference, PdfDictionary } from '../../../pdf/objects.ts';
import { addPicture } from '../../../pdf/picture-object.ts';
import type { Revision } from '../../../pdf/revision.ts';
import { fallbacks, typefaces, type Typeface, type Weight } from '../../../typefaces/typeface.ts';
import type { ShownLine } from './shown-text.ts';
import { symbolText } from './symbol-codes.ts';
import { textBlock, type BlockStyle, type Paragraph } from './text-block.ts';
import type { TextStyle } from './visible-signature.ts';

export interface AppearanceParts {
  /** In 1/72 inch. */
  readonly width: number;
  readonly height: number;
  readonly picture: Picture | undefined;
  /** Large, on the left. */
  readonly nameOnLeft: string | undefined;
  readonly lines: readonly ShownLine[];
  readonly style: TextStyle;
  /** Transparency is not allowed. */
  readonly isFlat: boolean;
  /** What device colours mean, where a document must say so. */
  readonly colourSpaces: PdfDictionary | undefined;
  /** Entries of the form XObject, such as Matrix. */
  readonly entries: Readonly<Record<string, PdfObject>>;
}

/** Part of the width that the left part takes, beside text. */
const leftShare = 0.36;
const leftShareMin = 0.18;
/** Part of the height that a name has below a picture. */
const nameShare = 0.34;
const ruleWidth = 0.75;
const regular: Weight = { isBold: false, isItalic: false };
const bold: Weight = { isBold: true, isItalic: false };
/** How far a colour is lightened for labels and for the rule. */
const labelTint = 0.42;
const ruleTint = 0.68;

/**
 * Draws an appearance: a picture or a large name on the left, a rule, and the text on the right.
 * Returns the form XObject.
 */
export function appearance(revision: Revision, parts: AppearanceParts): PdfReference {
  const { width, height, picture, nameOnLeft, lines, style, isFlat, colourSpaces, entries } = parts;
  const drawing = new Drawing(revision);
  const padding = Math.min(8, Math.max(1.5, Math.min(width, height) * 0.07));
  const inner: Area = { x: padding, y: padding, width: Math.max(1, width - 2 * padding), height: Math.max(1, height - 2 * padding) };
  const hasLeft = picture !== undefined || nameOnLeft !== undefined;
  const image = picture === undefined ? undefined : addPicture(revision, picture, { isFlat });
  const gap = Math.max(3, padding * 1.4);
  // A picture alone is its own design, up to the edge of the field.
  const left = lines.length === 0 ? (nameOnLeft === undefined ? { x: 0, y: 0, width, height } : inner) : leftArea(inner, picture);
  if (hasLeft) drawLeft(drawing, left, picture === undefined || image === undefined ? undefined : { picture, image }, nameOnLeft, style);
  if (lines.length > 0) {
    const ruleX = hasLeft ? left.x + left.width + gap : inner.x;
    const textX = ruleX + ruleWidth + gap;
    drawing.rectangle({ x: ruleX, y: inner.y, width: ruleWidth, height: inner.height }, tinted(style.colour, ruleTint));
    const area = { x: textX, y: inner.y, width: Math.max(1, inner.x + inner.width - textX), height: inner.height };
    for (const text of rightText(lines, area, style)) drawText(drawing, text, style);
  }
  return revision.add(drawing.form({ ...entries, BBox: [0, 0, width, height] }, colourSpaces));
}

function leftArea(inner: Area, picture: Picture | undefined): Area {
  const widest = inner.width * leftShare;
  if (picture === undefined) return { ...inner, width: widest };
  const wanted = (inner.height * picture.width) / picture.height;
  return { ...inner, width: Math.min(widest, Math.max(wanted, inner.width * leftShareMin)) };
}

function drawLeft(
  drawing: Drawing,
  area: Area,
  image: { readonly picture: Picture; readonly image: PdfReference } | undefined,
  name: string | undefined,
  style: TextStyle,
): void {
  const nameHeight = name === undefined ? 0 : image === undefined ? area.height : area.height * nameShare;
  if (image !== undefined)
    drawing.image(image.image, fitted(image.picture, { ...area, y: area.y + nameHeight, height: area.height - nameHeight }));
  if (name === undefined) return;
  const faces = facesOf(style, style.weight ?? regular);
  const fontSizeMax = Math.min(40, Math.max(7, area.height * 0.3));
  const block: BlockStyle = { ...blockStyle(style, faces), fontSizeMax, mayShrink: false, alignment: 'CENTRE' };
  const paragraph = { label: undefined, text: shownText(name, style), typefaces: faces };
  for (const text of textBlock([paragraph], { ...area, height: nameHeight }, block)) drawText(drawing, text, style);
}

/** Returns the largest area with the proportions of a picture, centred. */
function fitted({ width, height }: Picture, area: Area): Area {
  const scale = Math.min(area.width / width, area.height / height);
  const size = { width: width * scale, height: height * scale };
  return { x: area.x + (area.width - size.width) / 2, y: area.y + (area.height - size.height) / 2, ...size };
}

function rightText(lines: readonly ShownLine[], area: Area, style: TextStyle): readonly DrawnText[] {
  const faces = facesOf(style, style.weight ?? regular);
  const ofName = facesOf(style, style.weight ?? bold);
  const paragraphs = lines.map(({ label, text, isName }): Paragraph => ({
    label,
    text: shownText(text, style),
    typefaces: isName ? ofName : faces,
  }));
  const usualSize = Math.min(22, Math.max(7, area.height * 0.13));
  const block: BlockStyle = {
    ...blockStyle(style, faces),
    fontSizeMax: style.fontSize ?? usualSize,
    mayShrink: style.fontSize === undefined,
    alignment: 'LEFT',
  };
  return textBlock(paragraphs, area, block);
}

function blockStyle(
  { colour, symbols }: TextStyle,
  faces: readonly Typeface[],
): Pick<BlockStyle, 'colour' | 'labelColour' | 'labelTypefaces'> {
  return { colour, labelColour: tinted(colour, labelTint), labelTypefaces: symbols === undefined ? faces : typefaces('SANS', regular) };
}

function facesOf({ family, symbols }: TextStyle, weight: Weight): readonly Typeface[] {
  return symbols === undefined ? typefaces(family, weight) : fallbacks(weight);
}

function shownText(text: string, { symbols }: TextStyle): string {
  return symbols === undefined ? text : symbolText(text, symbols);
}

function drawText(drawing: Drawing, text: DrawnText, { decoration }: TextStyle): void {
  drawing.text(text);
  if (decoration === undefined) return;
  const { line, x, y, fontSize, colour } = text;
  const offset = decoration === 'UNDERLINE' ? -0.12 : 0.24;
  drawing.rectangle({ x, y: y + offset * fontSize, width: (line.width * fontSize) / 1000, height: fontSize * 0.055 }, colour);
}

function tinted({ red, green, blue }: Colour, tint: number): Colour {
  const lighter = (part: number): number => part + (1 - part) * tint;
  return { red: lighter(red), green: lighter(green), blue: lighter(blue) };
}
