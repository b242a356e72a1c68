import type { Colour } from '../../../pdf/drawing.ts';
import type { Family, Weight } from '../../../typefaces/typeface.ts';
import type { Place } from './page-place.ts';
import type { Shown } from './shown-text.ts';

/** A page by its number, from 1 on. */
export interface PageChoice {
  readonly from: 'START' | 'END';
  readonly number: number;
}

export interface TextStyle {
  readonly family: Family;
  /** The text is in the codes of a font of symbols. */
  readonly symbols: 'SYMBOL' | 'ZAPF_DINGBATS' | undefined;
  /** Absent: the name is bold, the rest is not. */
  readonly weight: Weight | undefined;
  readonly decoration: 'UNDERLINE' | 'STRIKETHROUGH' | undefined;
  /** In 1/72 inch; absent: as the field has room. */
  readonly fontSize: number | undefined;
  readonly colour: Colour;
}

/** A visible signature (interface, visibleSignature). */
export interface VisibleSignature {
  readonly page: PageChoice;
  readonly place: Place;
  /** Of the field, in 1/72 inch. */
  readonly width: number | undefined;
  readonly height: number | undefined;
  /** JPEG, PNG or GIF. */
  readonly image: Uint8Array | undefined;
  readonly style: TextStyle;
  readonly shown: Shown;
  readonly freeText: string | undefined;
}
