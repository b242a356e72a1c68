import { describe, expect, it } from 'vitest';
import { formFields } from '../../src/pdf/form-fields.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { textOf } from '../../src/pdf/text-string.ts';
import { madePdf, usualObjects, type MadeObjects } from './made-pdf.ts';
import { opened } from './opened.ts';

const objects = usualObjects();

function fieldsOf(made: MadeObjects): unknown[] {
  const file = opened(madePdf(made));
  return Array.from(formFields(file), ({ name, type, flags, value, widgets }) => ({
    ...{ name, type, flags, value: textOf(file.resolved(value)), widgets: widgets.map(({ reference }) => reference.number) },
  }));
}

describe('the fields of a form', () => {
  it('have names of all levels, and what is inherited', () => {
    expect(fieldsOf(objects)).toEqual([
      { name: 'name', type: 'Tx', flags: 0, value: 'Jérôme (1)', widgets: [10] },
      { name: 'seals.1', type: 'Sig', flags: 0, value: undefined, widgets: [12] },
    ]);
    const inherited = {
      ...objects,
      11: '<</T (a) /FT /Tx /Ff 3 /V (x) /Kids [12 0 R 16 0 R]>>',
      12: '<</T (b)>>',
      16: '<</T (c) /Ff 0 /V (y)>>',
    };
    expect(fieldsOf(inherited).slice(1)).toEqual([
      { name: 'a.b', type: 'Tx', flags: 3, value: 'x', widgets: [12] },
      { name: 'a.c', type: 'Tx', flags: 0, value: 'y', widgets: [16] },
    ]);
  });

  it('may have several widgets, and kids that were deleted', () => {
    const made = {
      ...objects,
      11: '<</T (a) /FT /Btn /Kids [12 0 R 16 0 R 99 0 R]>>',
      12: '<</Subtype /Widget>>',
      16: '<</Subtype /Widget>>',
    };
    expect(fieldsOf(made).slice(1)).toEqual([{ name: 'a', type: 'Btn', flags: 0, value: undefined, widgets: [12, 16] }]);
    expect(fieldsOf({ ...objects, 9: '<</Fields [99 0 R 10 0 R]>>' })).toHaveLength(1);
  });

  it('may have all that they say in objects of its own', () => {
    const made = {
      ...objects,
      ...{
        9: '<</Fields 20 0 R>>',
        20: '[11 0 R]',
        11: '<</T 21 0 R /FT 22 0 R /Ff 23 0 R /Kids 24 0 R>>',
        21: '(a)',
        22: '/Btn',
        23: '5',
      },
      ...{ 24: '[12 0 R]', 12: '<</T (b)>>' },
    };
    expect(fieldsOf(made)).toEqual([{ name: 'a.b', type: 'Btn', flags: 5, value: undefined, widgets: [12] }]);
  });

  it('have the widgets that are objects of their own, or are widgets themselves', () => {
    const widgets = (kids: string): unknown => fieldsOf({ ...objects, 9: '<</Fields [11 0 R]>>', 11: `<</Kids ${kids}>>`, 12: '<<>>' });
    const field = { name: '', type: undefined, flags: 0, value: undefined };
    expect(widgets('[12 0 R]')).toEqual([{ ...field, widgets: [12] }]);
    expect(widgets('[<</Subtype /Widget>>]')).toEqual([{ ...field, widgets: [11] }]);
    expect(widgets('[<</Subtype /Widget>> 12 0 R 99 0 R]')).toEqual([{ ...field, widgets: [12] }]);
  });

  it('have the name of what they are in where they have none beside others', () => {
    const made = { ...objects, 9: '<</Fields [11 0 R]>>', 11: '<</T (a) /Ff 1.5 /Kids [12 0 R 16 0 R]>>', 12: '<</T (b)>>', 16: '<<>>' };
    expect(fieldsOf(made)).toMatchObject([
      { name: 'a.b', flags: 0 },
      { name: 'a', flags: 0 },
    ]);
    const file = opened(madePdf(made));
    expect(Array.from(formFields(file), ({ parent }) => parent?.number)).toEqual([11, 11]);
    expect(Array.from(formFields(opened(madePdf(objects))), ({ parent }) => parent?.number)).toEqual([undefined, 11]);
  });

  it.each([
    ['no form', '<</Type /Catalog /Pages 2 0 R>>'],
    ['a form that does not exist', '<</Type /Catalog /Pages 2 0 R /AcroForm 99 0 R>>'],
    ['a form without fields', '<</Type /Catalog /Pages 2 0 R /AcroForm <<>>>>'],
  ])('are none where there is %s', (_name, catalog) => {
    expect(fieldsOf({ ...objects, 1: catalog })).toEqual([]);
  });

  it.each<[string, MadeObjects, string]>([
    ['in themselves', { ...objects, 11: '<</T (a) /Kids [12 0 R]>>', 12: '<</T (b) /Kids [11 0 R]>>' }, 'has object 11 twice'],
    ['twice', { ...objects, 9: '<</Fields [10 0 R 10 0 R]>>' }, 'has object 10 twice'],
    [
      'with one widget',
      { ...objects, 9: '<</Fields [10 0 R 11 0 R]>>', 10: '<</T (a) /Kids [12 0 R]>>', 11: '<</T (b) /Kids [12 0 R]>>', 12: '<<>>' },
      'has object 12 twice',
    ],
    ['that are no references', { ...objects, 9: '<</Fields [<</T (a)>>]>>' }, 'no reference'],
    ['that are no dictionaries', { ...objects, 10: '[]' }, 'field 10 is no dictionary'],
    ['that are no array', { ...objects, 9: '<</Fields 10 0 R>>' }, 'are no array'],
    ['of a form that is none', { ...objects, 9: '[]' }, 'is no dictionary'],
    ['with names that are too long', { ...objects, 10: `<</T (${'a'.repeat(5000)})>>` }, 'more than 4096 characters'],
  ])('are refused: ones %s', (_name, made, message) => {
    expect(() => fieldsOf(made)).toThrow(PdfFault);
    expect(() => fieldsOf(made)).toThrow(message);
  });

  it('are refused if they are too deep', () => {
    const made: Record<number, string> = { ...(objects as Record<number, string>), 9: '<</Fields [100 0 R]>>' };
    for (let number = 100; number < 300; number += 1) made[number] = `<</T (a) /Kids [${number + 1} 0 R]>>`;
    made[300] = '<</T (b)>>';
    expect(() => fieldsOf(made)).toThrow('more than 100 levels');
    expect(() => fieldsOf({ ...made, 201: '<</T (b)>>' })).toThrow('more than 100 levels');
    expect(fieldsOf({ ...made, 200: '<</T (b)>>' })).toHaveLength(1);
  });

  it('have names of 4,096 characters at most', () => {
    const named = (length: number): unknown => fieldsOf({ ...objects, 9: '<</Fields [10 0 R]>>', 10: `<</T (${'a'.repeat(length)})>>` });
    expect(named(4096)).toHaveLength(1);
    expect(() => named(4097)).toThrow(PdfFault);
  });

  it('are 500,000 at most', () => {
    // None of them is there, which takes the least.
    const count = (fields: number): unknown =>
      fieldsOf({ ...objects, 9: `<</Fields [${Array.from({ length: fields }, (_, index) => `${index + 100} 0 R`).join(' ')}]>>` });
    expect(count(500_000)).toEqual([]);
    expect(() => count(500_001)).toThrow('more than 500000 fields');
  });
});

describe('a text string', () => {
  it.each<[string, string]>([
    ['(plain)', 'plain'],
    ['<FEFF005A006F00E9D834DD1E>', 'Zoé\u{1d11e}'],
    ['<FFFE5A006F00E900>', 'Zoé'],
    ['<EFBBBF5A6FC3A9>', 'Zoé'],
    ['<5A6FE9>', 'Zoé'],
    ['<8081828384859092939495 9C9FA0AD>', '•†‡…—–’™ﬁﬂŁœ\ufffd€\u00ad'],
    ['<18191A1B1C1D1E1F>', '˘ˇˆ˙˝˛˚˜'],
    ['<FEFF001B0065006E001B0041>', 'A'],
    ['<FEFF0041004>', 'A@'],
    ['()', ''],
  ])('is read in its encoding: %s', (text, expected) => {
    expect(fieldsOf({ ...objects, 10: `<</FT /Tx /T (a) /V ${text}>>` })[0]).toMatchObject({ value: expected });
  });
});
