import { missingCharacter, shapedLine } from '../../typefaces/shaped-line.ts';
import { fallbacks } from '../../typefaces/typeface.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { Bitmap } from './bitmap.ts';
import { fillOutline } from './filled-outline.ts';

/** Characters of the text beside a symbol. */
export const textMaxCharacters = 64;
/**
 * Units of UTF-16 that become one character in NFC: at most four characters, each of which may take
 * two.
 */
const nfcShrinkMax = 8;

/** Pictures of texts that come again and again. */
const known = new Map<string, Bitmap>();
const knownMax = 100;
const knownMaxBytes = 32_768;

/**
 * Checks a text before it is drawn.
 * @throws {TwoDDocFault} if it is too long, or has a character that cannot be drawn
 */
export function checkText(text: string): void {
  // Bringing many marks into order takes a time that is quadratic in their number.
  if (text.length > nfcShrinkMax * textMaxCharacters) throw new TwoDDocFault(`the text has more than ${textMaxCharacters} characters`);
  const characters = Array.from(text.normalize('NFC'));
  if (characters.length > textMaxCharacters)
    throw new TwoDDocFault(`the text has ${characters.length} characters; at most ${textMaxCharacters} are allowed`);
  const control = characters.find((character) => /^[\p{Cc}\p{Cs}\u2028\u2029]$/u.test(character));
  const missing = control ?? missingCharacter(text, fallbacks({ isBold: false, isItalic: false }));
  if (missing !== undefined) throw new TwoDDocFault(`the text has a character that cannot be drawn: ${nameOf(missing)}`);
}

function nameOf(character: string): string {
  const points = Array.from(character, (one) => `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`).join(' ');
  return /^[\p{Cc}\p{Cs}\u2028\u2029]/u.test(character) ? points : `${character} (${points})`;
}

/**
 * Draws a line of text in DejaVu Sans, as issuers' codes have it, with nothing around it.
 * `capitalPixels`: height of a capital letter. Spaces alone are a picture without pixels.
 * @throws {TwoDDocFault} as `checkText`
 */
export function textBitmap(text: string, capitalPixels: number): Bitmap {
  const key = `${capitalPixels} ${text}`;
  const drawn = known.get(key);
  if (drawn !== undefined) return drawn;
  checkText(text);
  const made = cropped(newBitmap(text, capitalPixels));
  if (known.size >= knownMax) known.clear();
  if (made.bytes.length <= knownMaxBytes) known.set(key, made);
  return made;
}

function newBitmap(text: string, capitalPixels: number): Bitmap {
  const typefaces = fallbacks({ isBold: false, isItalic: false });
  const font = typefaces[0]?.font;
  if (font === undefined) throw new Error('there is no typeface');
  // The size of the font, so that capital letters begin and end with a row of pixels. The font does
  // not state their height.
  const capitalHeight = font.glyphForCodePoint('H'.charCodeAt(0)).bbox.maxY;
  const emPixels = (capitalPixels / capitalHeight) * font.unitsPerEm;
  const line = shapedLine(text, typefaces);
  const margin = Math.ceil(emPixels);
  const glyphs = line.runs.flatMap(({ typeface, glyphs: placed }) =>
    placed.map((one) => ({ ...one, unitsPerEm: typeface.font.unitsPerEm })),
  );
  const bitmap = new Bitmap(Math.ceil((line.width / 1000) * emPixels) + glyphs.length + 2 * margin, 4 * margin);
  let pen = margin;
  for (const { glyph, advance, offsetX, offsetY, unitsPerEm } of glyphs) {
    // From whole pixels on, the same letter looks the same everywhere.
    const x = pen + Math.round((offsetX / 1000) * emPixels);
    const y = 2 * margin - Math.round((offsetY / 1000) * emPixels);
    fillOutline(bitmap, glyph.path.commands, { x, y, scale: emPixels / unitsPerEm });
    pen += Math.round((advance / 1000) * emPixels);
  }
  return bitmap;
}

/** Returns the part with black pixels. */
function cropped(bitmap: Bitmap): Bitmap {
  const rows = Array.from({ length: bitmap.height }, (_, y) => ({ y, runs: bitmap.blackRuns(y) })).filter(({ runs }) => runs.length > 0);
  const top = rows[0]?.y ?? 0;
  const left = Math.min(...rows.map(({ runs }) => runs[0]?.[0] ?? 0));
  const right = Math.max(...rows.map(({ runs }) => runs.at(-1)?.[1] ?? 0));
  const made = rows.length === 0 ? new Bitmap(0, 0) : new Bitmap(right - left, (rows.at(-1)?.y ?? 0) + 1 - top);
  for (const { y, runs } of rows) for (const [start, end] of runs) made.blacken(y - top, start - left, end - left);
  return made;
}
