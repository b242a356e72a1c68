import { describe, expect, it } from 'vitest';
import {
  areaOn,
  displayedSize,
  displayedToPage,
  pageRectangle,
  uprightMatrix,
  type Place,
} from '../../../../src/signatures/pades/appearance/page-place.ts';
import { visibleAsked } from '../../../../src/signatures/pades/appearance/visible-asked.ts';
import { VisibleSignatureFields } from '../../../../src/signatures/request/pdf-fields.ts';
import { Refusal } from '../../../../src/result-codes.ts';
import { PdfDictionary, PdfReference } from '../../../../src/pdf/objects.ts';
import type { Page } from '../../../../src/pdf/pages.ts';

const page = (rotation: Page['rotation'], userUnit = 1): Page => ({
  ...{ reference: new PdfReference(3, 0), dictionary: new PdfDictionary(), resources: new PdfDictionary(), rotation, userUnit },
  box: { left: 10, bottom: 20, right: 210, top: 320 },
});
const rotations = [0, 90, 180, 270] as const;
const size = { width: 50, height: 30 };

describe('a displayed page', () => {
  it('has its sides in the order in which they are displayed, in 1/72 inch', () => {
    expect(rotations.map((rotation) => displayedSize(page(rotation)))).toEqual([
      { width: 200, height: 300 },
      { width: 300, height: 200 },
      { width: 200, height: 300 },
      { width: 300, height: 200 },
    ]);
    expect(displayedSize(page(90, 2))).toEqual({ width: 600, height: 400 });
  });

  it.each<[Place, readonly [number, number]]>([
    [{ kind: 'FROM_LOWER_LEFT', left: 7, bottom: 9 }, [7, 9]],
    [{ kind: 'FROM_LOWER_RIGHT', fromRight: 7, bottom: 9 }, [143, 9]],
    [{ kind: 'EDGES', horizontal: 'LEFT', vertical: 'TOP', margin: 5 }, [5, 265]],
    [{ kind: 'EDGES', horizontal: 'MIDDLE', vertical: 'BOTTOM', margin: 5 }, [75, 5]],
    [{ kind: 'EDGES', horizontal: 'RIGHT', vertical: 'TOP', margin: 5 }, [145, 265]],
  ])('has an area at %j', (place, [x, y]) => {
    expect(areaOn(page(0), place, size)).toEqual({ x, y, ...size });
  });

  it('has no area that is not on it, and one up to its edges', () => {
    const at = (left: number, bottom: number): boolean => areaOn(page(0), { kind: 'FROM_LOWER_LEFT', left, bottom }, size) !== undefined;
    expect([at(0, 0), at(150, 270)]).toEqual([true, true]);
    expect([at(-0.1, 0), at(0, -0.1), at(150.1, 270), at(150, 270.1)]).toEqual([false, false, false, false]);
  });

  it.each<[Page['rotation'], number, readonly number[]]>([
    [0, 1, [17, 29, 67, 59]],
    [90, 1, [171, 27, 201, 77]],
    [180, 1, [153, 281, 203, 311]],
    [270, 1, [19, 263, 49, 313]],
    [0, 2, [13.5, 24.5, 38.5, 39.5]],
    [90, 2, [190.5, 23.5, 205.5, 48.5]],
  ])('that is rotated by %d degrees, with a unit of %d, has an area at these coordinates', (rotation, userUnit, rectangle) => {
    expect(pageRectangle(page(rotation, userUnit), { x: 7, y: 9, ...size })).toEqual(rectangle);
  });

  it('turns what is drawn on it upright: by the part of its matrix without place and unit', () => {
    for (const rotation of rotations)
      expect(
        uprightMatrix({ rotation })
          .slice(0, 4)
          .map((one) => one + 0),
      ).toEqual(
        displayedToPage(page(rotation))
          .slice(0, 4)
          .map((one) => one + 0),
      );
    expect(rotations.map((rotation) => uprightMatrix({ rotation }).slice(4))).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });
});

describe('a visible signature', () => {
  const asked = (fields: object): ReturnType<typeof visibleAsked> => visibleAsked(VisibleSignatureFields.parse(fields), '/visible');
  const refused = (fields: object): unknown => {
    try {
      return asked(fields);
    } catch (error) {
      return error instanceof Refusal ? [error.code, error.at] : error;
    }
  };

  it.each([
    [{}, { from: 'START', number: 1 }],
    [
      { paging: 'FIRST_PAGE', pageSelection: 5 },
      { from: 'START', number: 1 },
    ],
    [{ paging: 'LAST_PAGE' }, { from: 'END', number: 1 }],
    [{ pageSelection: 5 }, { from: 'START', number: 5 }],
    [
      { paging: 'SELECTED_PAGE', pageSelection: 5 },
      { from: 'START', number: 5 },
    ],
    [
      { paging: 'SELECTED_PAGE', pageSelection: 5, pageNumerotation: 'FROM_END_TO_START' },
      { from: 'END', number: 5 },
    ],
    [
      { signatureField: 'f', pageSelection: 5 },
      { from: 'START', number: 1 },
    ],
  ])('with %j is on the page %j', (fields, choice) => {
    expect(asked(fields).page).toEqual(choice);
  });

  it.each([
    [{}, { kind: 'EDGES', horizontal: 'RIGHT', vertical: 'BOTTOM', margin: 36 }],
    [
      { horizontalPosition: 'LEFT', verticalPosition: 'TOP', margin: 0 },
      { kind: 'EDGES', horizontal: 'LEFT', vertical: 'TOP', margin: 0 },
    ],
    [
      { x: 1, y: 2 },
      { kind: 'FROM_LOWER_RIGHT', fromRight: 1, bottom: 2 },
    ],
    [{ x: 1 }, { kind: 'EDGES', horizontal: 'RIGHT', vertical: 'BOTTOM', margin: 36 }],
    [{ y: 1 }, { kind: 'EDGES', horizontal: 'RIGHT', vertical: 'BOTTOM', margin: 36 }],
    [
      { absolute: true, x: 1, y: 2 },
      { kind: 'FROM_LOWER_RIGHT', fromRight: 1, bottom: 2 },
    ],
    [
      { absolute: false, x: 1, y: 2 },
      { kind: 'EDGES', horizontal: 'RIGHT', vertical: 'BOTTOM', margin: 36 },
    ],
    [
      { signatureField: 'f', x: 1, y: 2 },
      { kind: 'FROM_LOWER_RIGHT', fromRight: 0, bottom: 0 },
    ],
  ])('with %j is at %j', (fields, place) => {
    expect(asked(fields).place).toEqual(place);
  });

  it.each([
    [{ paging: 'SELECTED_PAGE' }, '/visible/pageSelection'],
    [{ absolute: true }, '/visible/x'],
    [{ absolute: true, x: 1 }, '/visible/y'],
    [{ absolute: true, y: 1 }, '/visible/x'],
  ])('with %j is refused', (fields, at) => {
    expect(refused(fields)).toEqual(['FIELDS_INCONSISTENT', at]);
  });

  it('shows name, date and place unless told otherwise', () => {
    const shown = { nameOnLeft: false, name: true, identifier: false, labels: false, date: true, location: true, reason: false };
    expect(asked({}).shown).toEqual(shown);
    const fields = {
      ...{ renderName: 'nameOnLeft', renderNameVisible: 'name', renderIdentifierVisible: 'identifier', renderLabelVisible: 'labels' },
      ...{ renderDateVisible: 'date', renderLocationVisible: 'location', renderReasonVisible: 'reason' },
    };
    for (const [field, part] of Object.entries(fields))
      for (const value of [true, false]) expect(asked({ [field]: value }).shown).toEqual({ ...shown, [part]: value });
  });

  it('has the letters and the colour asked for', () => {
    const usual = { family: 'SANS', symbols: undefined, weight: undefined, decoration: undefined, fontSize: undefined };
    expect(asked({}).style).toEqual({ ...usual, colour: { red: 0x14 / 255, green: 0x21 / 255, blue: 0x3d / 255 } });
    expect(asked({ fontColor: '#FF8000', fontSize: 9 }).style).toMatchObject({
      fontSize: 9,
      colour: { red: 1, green: 128 / 255, blue: 0 },
    });
    const letters = ([fontName, fontStyle]: readonly [string, string]): unknown => asked({ fontName, fontStyle }).style;
    const weight = (isBold: boolean, isItalic: boolean): object => ({ weight: { isBold, isItalic } });
    expect(letters(['TIMES_ROMAN', 'BOLD'])).toMatchObject({ family: 'SERIF', ...weight(true, false) });
    expect(letters(['COURIER', 'ITALIC'])).toMatchObject({ family: 'MONO', ...weight(false, true) });
    expect(letters(['HELVETICA', 'BOLD_ITALIC'])).toMatchObject({ family: 'SANS', ...weight(true, true) });
    expect(letters(['SYMBOL', 'UNDERLINE'])).toMatchObject({ symbols: 'SYMBOL', decoration: 'UNDERLINE', ...weight(false, false) });
    expect(letters(['ZAPFDINGBATS', 'STRIKETHROUGH'])).toMatchObject({
      symbols: 'ZAPF_DINGBATS',
      decoration: 'STRIKETHROUGH',
      ...weight(false, false),
    });
    expect(letters(['HELVETICA', 'NORMAL'])).toMatchObject({ decoration: undefined, ...weight(false, false) });
  });
});
