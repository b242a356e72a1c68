import type { z } from 'zod';
import type { Colour } from '../../../pdf/drawing.ts';
import { Refusal } from '../../../result-codes.ts';
import type { Family, Weight } from '../../../typefaces/typeface.ts';
import type { VisibleSignatureFields } from '../../request/pdf-fields.ts';
import type { Place } from './page-place.ts';
import type { PageChoice, TextStyle, VisibleSignature } from './visible-signature.ts';

type Fields = z.output<typeof VisibleSignatureFields>;

/** Distance to the edges where the request names none, in 1/72 inch: half an inch. */
export const usualMargin = 36;
/** A very dark blue, as of ink. */
const usualColour = '14213D';

/**
 * Reads the options of a visible signature (interface, visibleSignature). `at`: JSON Pointer of the
 * member.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function visibleAsked(fields: Fields, at: string): VisibleSignature {
  const isPlaced = fields.signatureField === undefined;
  return {
    page: isPlaced ? pageAsked(fields, at) : { from: 'START', number: 1 },
    place: isPlaced ? placeAsked(fields, at, 'FROM_LOWER_RIGHT') : { kind: 'FROM_LOWER_RIGHT', fromRight: 0, bottom: 0 },
    ...{ width: fields.width, height: fields.height, image: fields.image, style: styleAsked(fields), freeText: fields.freeText },
    shown: {
      nameOnLeft: fields.renderName ?? false,
      name: fields.renderNameVisible ?? true,
      identifier: fields.renderIdentifierVisible ?? false,
      labels: fields.renderLabelVisible ?? false,
      date: fields.renderDateVisible ?? true,
      location: fields.renderLocationVisible ?? true,
      reason: fields.renderReasonVisible ?? false,
    },
  };
}

function pageAsked({ paging, pageSelection, pageNumerotation = 'FROM_START_TO_END' }: Fields, at: string): PageChoice {
  if (paging === 'LAST_PAGE') return { from: 'END', number: 1 };
  if (paging === 'FIRST_PAGE' || (paging === undefined && pageSelection === undefined)) return { from: 'START', number: 1 };
  if (pageSelection === undefined) throw inconsistent(`${at}/pageSelection`, 'SELECTED_PAGE needs pageSelection');
  return { from: pageNumerotation === 'FROM_START_TO_END' ? 'START' : 'END', number: pageSelection };
}

interface PlaceFields {
  readonly absolute?: boolean | undefined;
  readonly x?: number | undefined;
  readonly y?: number | undefined;
  readonly horizontalPosition?: 'LEFT' | 'MIDDLE' | 'RIGHT' | undefined;
  readonly verticalPosition?: 'TOP' | 'BOTTOM' | undefined;
  readonly margin?: number | undefined;
}

/**
 * Reads where something is placed on a page. `absolute` absent: true where there are x and y.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function placeAsked(fields: PlaceFields, at: string, origin: 'FROM_LOWER_RIGHT' | 'FROM_LOWER_LEFT'): Place {
  const { x, y, horizontalPosition = 'RIGHT', verticalPosition = 'BOTTOM', margin = usualMargin } = fields;
  const { absolute = x !== undefined && y !== undefined } = fields;
  if (!absolute) return { kind: 'EDGES', horizontal: horizontalPosition, vertical: verticalPosition, margin };
  if (x === undefined || y === undefined) throw inconsistent(`${at}/${x === undefined ? 'x' : 'y'}`, 'absolute true needs x and y');
  return origin === 'FROM_LOWER_RIGHT' ? { kind: origin, fromRight: x, bottom: y } : { kind: origin, left: x, bottom: y };
}

const families: Readonly<Record<NonNullable<Fields['fontName']>, Family>> = {
  HELVETICA: 'SANS',
  TIMES_ROMAN: 'SERIF',
  COURIER: 'MONO',
  SYMBOL: 'SANS',
  ZAPFDINGBATS: 'SANS',
};
const weights: Readonly<Record<NonNullable<Fields['fontStyle']>, Weight>> = {
  NORMAL: { isBold: false, isItalic: false },
  BOLD: { isBold: true, isItalic: false },
  ITALIC: { isBold: false, isItalic: true },
  BOLD_ITALIC: { isBold: true, isItalic: true },
  UNDERLINE: { isBold: false, isItalic: false },
  STRIKETHROUGH: { isBold: false, isItalic: false },
};

function styleAsked({ fontName = 'HELVETICA', fontStyle, fontSize, fontColor = usualColour }: Fields): TextStyle {
  return {
    family: families[fontName],
    symbols: fontName === 'SYMBOL' ? 'SYMBOL' : fontName === 'ZAPFDINGBATS' ? 'ZAPF_DINGBATS' : undefined,
    weight: fontStyle === undefined ? undefined : weights[fontStyle],
    decoration: fontStyle === 'UNDERLINE' || fontStyle === 'STRIKETHROUGH' ? fontStyle : undefined,
    fontSize,
    colour: colourOf(fontColor),
  };
}

/** Reads six hexadecimal digits; a # may precede them. */
function colourOf(text: string): Colour {
  const digits = text.replace('#', '');
  const part = (at: number): number => Number.parseInt(digits.slice(at, at + 2), 16) / 255;
  return { red: part(0), green: part(2), blue: part(4) };
}

function inconsistent(at: string, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at, message });
}
