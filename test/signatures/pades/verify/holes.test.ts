import { describe, expect, it } from 'vitest';
import { SignatureBroken } from '../../../../src/cms/verify-signer-info.ts';
import { checkOutside, coveredRange, endsRevision, type CoveredRange } from '../../../../src/signatures/pades/verify/covered-range.ts';
import { signaturesOf } from '../../../../src/signatures/pades/verify/signatures-of.ts';
import { pdfOf, smallPdf } from '../../../support/small-pdf.ts';
import { opened } from '../../../pdf/opened.ts';
import { signPdf } from '../sign-pdf.ts';
import { findingOf } from './revised-pdf.ts';

const pieceBytes = 65_536;

/** A file whose only signature has these contents, between their brackets. */
function withContents(contents: string): { readonly pdf: Buffer; readonly start: number; readonly end: number } {
  const range = `[${' '.repeat(40)}]`;
  const made = pdfOf(
    new Map([
      [1, '<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [3 0 R] >> >>'],
      [2, '<< /Type /Pages /Kids [] /Count 0 >>'],
      [3, `<< /FT /Sig /T (a) /V << /ByteRange ${range} /Contents ${contents} >> >>`],
    ]),
  );
  const start = made.indexOf(contents);
  const end = start + contents.length;
  made.write(`[0 ${start} ${end} ${made.length - end}`, made.indexOf(range));
  return { pdf: made, start, end };
}

/** What of the file is covered, or why it is not. */
function coveredIn(pdf: Buffer): CoveredRange | string {
  const file = opened(pdf);
  const [signature] = signaturesOf(file);
  if (signature === undefined) throw new Error('no signature');
  try {
    return coveredRange(file, signature);
  } catch (error) {
    if (error instanceof SignatureBroken) return error.message;
    throw error;
  }
}

describe('the contents of a signature', () => {
  it.each(['<>', '<0a>', '<AbCdEf0189>', `<${'0'.repeat(3 * pieceBytes)}>`])('are hexadecimal digits: %#', (contents) => {
    const { pdf, start, end } = withContents(contents);
    expect(coveredIn(pdf)).toEqual({ holder: 3, start, end, stop: pdf.length });
  });

  it('are nothing else, wherever it stands in them', () => {
    const { pdf, start, end } = withContents(`<${'0'.repeat(3 * pieceBytes)}>`);
    for (const at of [1, 2, pieceBytes - 1, pieceBytes, pieceBytes + 1, pieceBytes + 2, 2 * pieceBytes, end - start - 3, end - start - 2]) {
      const changed = Buffer.from(pdf);
      changed[start + at] = 0x20;
      expect(coveredIn(changed), String(at)).toBe('has contents that are no hexadecimal string');
    }
  });

  it('are nothing else at the end of a piece', () => {
    const { pdf, end } = withContents(`<${'0'.repeat(pieceBytes + 1)}>`);
    pdf.write(' ', end - 2);
    expect(coveredIn(pdf)).toBe('has contents that are no hexadecimal string');
  });

  it.each(['(0000)', '()'])('are no literal string: %s', (contents) => {
    expect(coveredIn(withContents(contents).pdf)).toBe('has contents that are no hexadecimal string');
  });
});

describe('an object beside the hole of a signature', () => {
  const hole: CoveredRange = { holder: 3, start: 100, end: 200, stop: 300 };
  it.each([
    [50, 100, false],
    [50, 101, true],
    [200, 250, false],
    [199, 250, true],
    [120, 130, true],
    [50, 250, true],
  ])('from %i to %i reaches into it: %s', (start, end, reaches) => {
    const check = (number: number) => () => checkOutside({ object: null, start, end, hasLength: true }, number, [hole]);
    if (reaches) expect(check(4)).toThrow('object 4 reaches into the value of one');
    else expect(check(4)).not.toThrow();
    expect(check(3)).not.toThrow();
  });

  it('may be one that no reader can read', () => {
    const pdf = signPdf(smallPdf({ objects: ['<< /A', '(open'] }));
    expect(findingOf(pdf)).toBeUndefined();
  });
});

describe('the end of a revision', () => {
  const startxref = (between: string, digits = '9', end = ''): string => `startxref\n${digits}${between}%%EOF${end}`;
  it.each([
    ['one line after the other', startxref('\n'), true],
    ['white space before %%EOF', startxref(' '.repeat(1000)), true],
    ['more of it than any reader searches', startxref(' '.repeat(1010)), false],
    ['no white space before %%EOF', startxref(''), false],
    ['white space behind it', startxref('\n', '9', '\r\n \0\t\f'), true],
    ['a byte behind it', startxref('\n', '9', '\nx'), false],
    ['an offset of 15 digits', startxref('\n', '9'.repeat(15)), true],
    ['an offset of 16 digits', startxref('\n', '9'.repeat(16)), false],
    ['no offset', startxref('\n', ''), false],
    ['a word before it', `x${startxref('\n')}`, true],
  ])('has %s', (_, text, ends) => {
    const small = pdfOf(new Map([[1, '<< /Type /Catalog >>']]));
    const added = `${text}${' '.repeat(10)}`;
    const file = opened(Buffer.concat([small, Buffer.from(`\n${added}\nstartxref\n${small.indexOf('xref')}\n%%EOF\n`, 'latin1')]));
    expect(endsRevision(file, small.length + 1 + text.length)).toBe(ends);
    expect([endsRevision(file, small.length), endsRevision(file, small.length - 10)]).toEqual([true, false]);
  });
});
