import { describe, expect, it } from 'vitest';
import { smallPdf, type SmallPdf } from '../../../support/small-pdf.ts';
import { signPdf } from '../sign-pdf.ts';
import { findingOf, formText, refusalOf, streamText, withObjects } from './revised-pdf.ts';

interface Attack {
  readonly pdf: SmallPdf;
  /** Objects that are changed after the signature. */
  readonly changes: (signed: Buffer) => Readonly<Record<number, string>>;
}

const paid = formText('1 g 0 0 600 800 re f');
const textField = (more: string): string => `<< /Type /Annot /Subtype /Widget /FT /Tx /T (t) /Rect [0 0 0 0] /P 4 0 R ${more} >>`;
const withFields = '/AcroForm << /Fields [12 0 R] >>';
/** Returns the last version of an object in a signed file, with more entries. */
const object = (signed: Buffer, number: number, more: string): string => {
  const [, body = ''] =
    Array.from(signed.toString('latin1').matchAll(new RegExp(`\\n${number} 0 obj\\n<<(.*)>>\\nendobj`, 'g'))).at(-1) ?? [];
  return `<<${body} ${more} >>`;
};

/**
 * Shadow attacks in which an object that may change, as what it is, is something else, too: a
 * dictionary in which a content finds a form or a graphics state by its name.
 */
const attacks: Readonly<Record<string, Attack>> = {
  'Tabs of a dictionary that is no page': {
    pdf: { page: '/Resources << /XObject 12 0 R >>', content: () => '/Tabs Do', objects: ['<< /Dummy 3 0 R >>'] },
    changes: () => ({ 12: '<< /Dummy 3 0 R /Tabs 50 0 R >>', 50: paid }),
  },
  'Tabs of a page that are a form': {
    pdf: { page: '/Resources << /XObject 4 0 R >>', content: () => '/Tabs Do' },
    changes: (signed) => ({ 4: object(signed, 4, '/Tabs 50 0 R'), 50: paid }),
  },
  'Tabs of a page among resources': {
    pdf: { page: '/Resources << /XObject 4 0 R >>', content: () => '/Tabs Do' },
    changes: (signed) => ({ 4: object(signed, 4, '/Tabs /S') }),
  },
  'Annots that are a form': {
    pdf: { page: '/Resources << /XObject 12 0 R >>', content: () => '/Annots Do', objects: ['<< /Annots 13 0 R >>', formText('q Q')] },
    changes: () => ({ 12: '<< /Annots 50 0 R >>', 50: paid }),
  },
  'metadata that are a form': {
    pdf: { catalog: '/Metadata 12 0 R', page: '/Resources << /XObject 1 0 R >>', content: () => '/Metadata Do', objects: [formText('q')] },
    changes: () => ({ 12: paid }),
  },
  'metadata that the catalog gets, and a page refers to': {
    pdf: { page: '/Resources << /XObject 1 0 R >>', content: () => '/Metadata Do' },
    changes: (signed) => ({ 1: object(signed, 1, '/Metadata 50 0 R'), 50: streamText('<x/>', '/Type /Metadata /Subtype /XML') }),
  },
  'validation data that are a form': {
    pdf: { page: '/Resources << /XObject 1 0 R >>', content: () => '/DSS Do' },
    changes: (signed) => ({ 1: object(signed, 1, '/DSS 50 0 R'), 50: paid }),
  },
  'validation data that are the contents of a page': {
    pdf: { catalog: '/DSS << /Certs 12 0 R >>', page: '/Other 12 0 R', objects: ['[13 0 R]', streamText('q Q')] },
    changes: () => ({ 13: streamText('1 g 0 0 600 800 re f') }),
  },
  'validation data that did not exist yet, in an array that is more than that': {
    pdf: { catalog: '/DSS << /Certs 12 0 R >>', page: '/Other 12 0 R', objects: ['[60 0 R]'] },
    changes: () => ({ 60: streamText('1 g 0 0 600 800 re f') }),
  },
  'extensions that are a graphics state': {
    pdf: { catalog: '/Extensions 12 0 R', page: '/Resources << /ExtGState 1 0 R >>', content: () => '/Extensions gs', objects: ['<< >>'] },
    changes: () => ({ 12: '<< /ca 0 >>' }),
  },
  'the catalog as an appearance': {
    pdf: {
      catalog: '/Extensions 12 0 R',
      page: '/Annots [13 0 R]',
      objects: ['<< >>', '<< /Subtype /Stamp /AP << /N 1 0 R >> /AS /Extensions >>'],
    },
    changes: () => ({ 12: '<< /ADBE << /BaseVersion /1.7 >> >>' }),
  },
  'the value of a field that is a form': {
    pdf: {
      catalog: withFields,
      page: '/Annots [12 0 R] /Resources << /XObject 12 0 R >>',
      content: () => '/V Do',
      objects: [textField('')],
    },
    changes: () => ({ 12: textField('/V 50 0 R'), 50: paid }),
  },
  'the value of a field that is reached from the resources of a page': {
    pdf: {
      catalog: withFields,
      page: '/Annots [12 0 R] /Resources << /XObject 12 0 R >>',
      content: () => '/V Do',
      objects: [textField('')],
    },
    changes: () => ({ 12: textField('/V (text)') }),
  },
  'the value of a field that is reached by a reference to a reference': {
    pdf: {
      catalog: withFields,
      page: '/Annots [12 0 R] /Resources << /XObject 13 0 R >>',
      content: () => '/V Do',
      objects: [textField(''), '12 0 R'],
    },
    changes: () => ({ 12: textField('/V (text)') }),
  },
  'the appearance of a field in a dictionary that a page has, too': {
    pdf: {
      catalog: withFields,
      page: '/Annots [12 0 R] /Resources << /XObject 13 0 R >>',
      content: () => '/N Do',
      objects: [textField('/AP 13 0 R'), '<< /N 14 0 R >>', formText('q Q')],
    },
    changes: () => ({ 12: textField('/AP 13 0 R /V (text)'), 14: paid }),
  },
  'an appearance that is no dictionary': {
    pdf: { catalog: withFields, page: '/Annots [12 0 R]', objects: [textField('')] },
    changes: () => ({ 12: textField('/V (text) /AP 50 0 R'), 50: paid }),
  },
};

const widget = (more: string): string => `<< /Type /Annot /Subtype /Widget /Rect [0 0 600 800] /P 4 0 R /AP << /N 15 0 R >> ${more} >>`;
const twoFields = (one: string, other: string, parent: string): Buffer =>
  smallPdf({
    catalog: '/AcroForm << /Fields [12 0 R 14 0 R] >>',
    page: '/Annots [13 0 R]',
    objects: [`<< /FT /Tx /T (A) /V (100) ${one} >>`, widget(parent), `<< /FT /Tx /T (B) /V (1) ${other} >>`, formText('q Q')],
  });

describe('a widget of a locked field', () => {
  it('cannot be one of another field, too', () => {
    const pdf = twoFields('/Kids [13 0 R]', '/Kids [13 0 R]', '/Parent 12 0 R');
    expect(refusalOf(pdf)).toBe('DOCUMENT_INVALID');
  });

  it.each([
    ['', '/Kids [13 0 R]', '/Parent 12 0 R'],
    ['', '/Kids [13 0 R] /Parent 12 0 R', ''],
  ])('is not changed as one of the field that has it, but is not its parent: %s %s', (one, other, parent) => {
    const signed = signPdf(twoFields(one, other, parent));
    expect(findingOf(signed)).toBeUndefined();
    const changed = withObjects(signed, { 14: `<< /FT /Tx /T (B) /V (2) ${other} >>`, 13: widget(`${parent} /M (D:2026)`) });
    expect(findingOf(changed)).toContain('the field "B", which names another field as its parent');
  });
});

describe('a field that is filled in without a value', () => {
  const filledIn = (kind: string, entries: string): Buffer => {
    const field = (more: string): string => `<< /Subtype /Widget ${kind} /T (t) /Rect [0 0 600 800] /P 4 0 R ${more} >>`;
    const signed = signPdf(smallPdf({ catalog: withFields, page: '/Annots [12 0 R]', objects: [field('')] }));
    return withObjects(signed, { 12: field(`${entries} /AP << /N 50 0 R >>`), 50: paid });
  };
  it.each([
    ['a push button', '/FT /Btn /Ff 65536', '/V /On', 'the push button "t"'],
    ['a text that is read only', '/FT /Tx /Ff 1', '/V (1)', 'the field "t", which is read only'],
    ['items of a text', '/FT /Tx', '/I [1]', 'whose value is the same'],
    ['a state of a text', '/FT /Tx', '/AS /On', 'whose value is the same'],
    ['a formatted text without the text', '/FT /Tx', '/RV (<p>1</p>)', 'whose value is the same'],
    ['a formatted text of a button', '/FT /Btn', '/RV (<p>1</p>) /AS /On', 'RV of the field'],
    ['a field without a type', '', '/V (1)', 'whose value is the same'],
  ])('%s', (_, kind, entries, reason) => {
    expect(findingOf(filledIn(kind, entries))).toContain(reason);
  });

  it.each([
    ['/FT /Tx', '/V (1) /RV (<p>1</p>)'],
    ['/FT /Ch', '/I [1]'],
    ['/FT /Ch', '/V [(a) (b)]'],
    ['/FT /Btn', '/V /On /AS /On'],
    ['/FT /Btn', '/AS /On'],
  ])('is not one with a value: %s %s', (kind, entries) => {
    expect(findingOf(filledIn(kind, entries))).toBeUndefined();
  });
});

describe('an object that is something else, too', () => {
  it.each(Object.entries(attacks))('%s', (_, { pdf, changes }) => {
    const signed = signPdf(smallPdf(pdf));
    expect(findingOf(signed)).toBeUndefined();
    const changed = withObjects(signed, changes(signed));
    expect(findingOf(changed)).toContain('the signature "Signature1" of the document does not allow what was changed after it');
    expect(refusalOf(changed)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('is none where the catalog is named by a signature, and pages by destinations', () => {
    const pdf = smallPdf({ catalog: '/Names << /Dests << /Names [(a) [4 0 R /Fit] (b) 12 0 R] >> >>', objects: ['<< /D [4 0 R /Fit] >>'] });
    const signed = signPdf(withObjects(signPdf(pdf), { 60: '<< /Type /SigRef /Data 1 0 R >>' }), { validateSignatures: true });
    expect(findingOf(signed)).toBeUndefined();
  });
});
