import { deflateSync } from 'node:zlib';
import { assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import { endsRevision } from '../../../../src/signatures/pades/verify/covered-range.ts';
import { statesSince } from '../../../../src/signatures/pades/verify/file-states.ts';
import { ReferenceScan } from '../../../../src/signatures/pades/verify/reference-scan.ts';
import { signaturesOf } from '../../../../src/signatures/pades/verify/signatures-of.ts';
import { PdfFault } from '../../../../src/pdf/pdf-fault.ts';
import { pdfOf, smallPdf } from '../../../support/small-pdf.ts';
import { signPdf, signPdfWith, usualSigner } from '../sign-pdf.ts';
import { softwareSigner } from '../../software-signer.ts';
import { findingOf, refusalOf, revised, streamText } from './revised-pdf.ts';

const signed = signPdf(smallPdf());
const rangePattern = /\/ByteRange \[([\d ]+)\]/;
const range = (pdf: Buffer): readonly number[] => (rangePattern.exec(pdf.toString('latin1'))?.[1] ?? '').trim().split(/ +/).map(Number);
const [, start = 0, end = 0, length = 0] = range(signed);

/** Writes other numbers over those of the byte range. */
function withRange(pdf: Buffer, numbers: readonly (number | string)[]): Buffer {
  const text = pdf.toString('latin1');
  const old = rangePattern.exec(text)?.[0] ?? '';
  return Buffer.from(text.replace(old, `/ByteRange [${numbers.join(' ')}`.padEnd(old.length - 1).concat(']')), 'latin1');
}

/** Puts bytes at an offset, in the place of those there. */
function overwritten(pdf: Buffer, offset: number, bytes: string): Buffer {
  const copy = Buffer.from(pdf);
  copy.write(bytes, offset, 'latin1');
  return copy;
}

const pdfFault = 'PdfFault';
function foundIn(pdf: Buffer): string | undefined {
  try {
    return findingOf(pdf);
  } catch (error) {
    if (error instanceof PdfFault) return pdfFault;
    throw error;
  }
}

describe('the byte range of a signature', () => {
  it.each<readonly [string, readonly (number | string)[], string]>([
    ['does not begin at 0', [1, start - 1, end, length], 'does not cover the beginning of the file'],
    ['has a wider hole behind the signature', [0, start, end + 10, length - 10], 'leaves out the bytes from'],
    ['has a wider hole before the signature', [0, start - 10, end, length], 'leaves out the bytes from'],
    ['has a narrower hole', [0, start + 2, end, length], 'leaves out the bytes from'],
    ['ends before the revision does', [0, start, end, length - 10], 'up to the end of a revision'],
    ['ends behind the file', [0, start, end, length + 1], 'beyond the end of the file'],
    ['has three numbers', [0, start, end], 'of 3 numbers instead of four'],
    ['has a second range', [0, start, end, 10, end + 10, length - 10].map(String), 'of 6 numbers instead of four'],
    ['has something else than numbers', [0, start, end, '/N'], 'no byte range of numbers'],
  ])('%s', (_, numbers, reason) => {
    const pdf = withRange(signed, numbers);
    expect(pdf.length).toBe(signed.length);
    expect(findingOf(pdf)).toContain(reason);
    expect(refusalOf(pdf)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('stands in the dictionary twice, so that the file has two meanings', () => {
    const pdf = overwritten(signed, signed.indexOf('/Filter /Adobe.PPKLite'), '/ByteRange [0 1 2 3]  ');
    expect(() => findingOf(pdf)).toThrow(PdfFault);
    expect(refusalOf(pdf)).toBe('DOCUMENT_INVALID');
  });

  it('leads around other content (signature wrapping)', () => {
    // What is covered stands behind other content, and the dictionary has a second range in the hole.
    const inserted = Buffer.from(`/ByteRange [0 ${start} ${end + 200} ${length}]`.padEnd(200), 'latin1');
    expect(foundIn(Buffer.concat([signed.subarray(0, end), inserted, signed.subarray(end)]))).toBeDefined();
    const moved = withRange(Buffer.concat([signed.subarray(0, end), Buffer.alloc(200, ' '), signed.subarray(end)]), [
      0,
      start,
      end + 200,
      length,
    ]);
    expect(foundIn(moved)).toBeDefined();
  });

  it('belongs to a copy of the signature dictionary', () => {
    const number = Number(/(\d+) 0 obj\n<<\/Type \/Sig\//.exec(signed.toString('latin1'))?.[1]);
    const dictionary = /<<\/Type \/Sig\/[\s\S]*?>>\nendobj/.exec(signed.toString('latin1'))?.[0] ?? '';
    const offset = signed.length;
    const [, previous = ''] = Array.from(signed.toString('latin1').matchAll(/startxref\n(\d+)/g)).at(-1) ?? [];
    const body = `${number} 0 obj\n${dictionary}\n`;
    const table = `xref\n${number} 1\n${String(offset).padStart(10, '0')} 00000 n \ntrailer\n<< /Size 60 /Root 1 0 R /Prev ${previous} >>\nstartxref\n${offset + body.length}\n%%EOF\n`;
    expect(findingOf(Buffer.concat([signed, Buffer.from(body + table, 'latin1')]))).toContain('leaves out the bytes from');
  });
});

describe('the hole of a signature', () => {
  it('has white space', () => {
    expect(findingOf(overwritten(signed, end - 5, '    '))).toContain('no hexadecimal string');
  });

  it('has other bytes than zeros behind the signature', () => {
    expect(findingOf(overwritten(signed, end - 5, 'abcd'))).toContain('other bytes than zeros');
  });

  it('has the signature of another document', () => {
    const other = signPdf(smallPdf({ content: () => 'BT (Another one) Tj ET' }));
    const [, otherStart = 0] = range(other);
    const encoded = other.toString('latin1', otherStart + 1, otherStart + 1 + (end - start - 2));
    const pdf = overwritten(signed, start + 1, encoded);
    expect(findingOf(pdf)).toContain('does not match the content');
    expect(refusalOf(pdf)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('has the certificate of another signer of the same name', () => {
    const [, ownStart = 0, ownEnd = 0] = range(signed);
    const forger = signPdf(smallPdf(), {}, { signer: softwareSigner('Camille Martin') });
    const [, otherStart = 0, otherEnd = 0] = range(forger);
    const der = (pdf: Buffer, from: number, to: number): Buffer => Buffer.from(pdf.toString('latin1', from + 1, to - 1), 'hex');
    const own = der(signed, ownStart, ownEnd);
    const certificate = Buffer.from(usualSigner().certificate.der);
    const at = own.indexOf(certificate);
    expect(at).toBeGreaterThan(0);
    const forged = der(forger, otherStart, otherEnd);
    const theirs = forged.subarray(forged.indexOf(certificate.subarray(0, 2), 20));
    own.set(theirs.subarray(0, certificate.length), at);
    expect(findingOf(overwritten(signed, start + 1, own.toString('hex')))).toBeDefined();
  });

  it('is empty', () => {
    expect(findingOf(overwritten(signed, start + 1, '0'.repeat(end - start - 2)))).toContain('not well formed');
  });
});

describe('an object that reaches into the hole of a signature', () => {
  // What is in the hole can change, and the signature still holds: here, letters of digits.
  const page = 'q 500 0 0 500 40 200 cm BI /W 100 /H 100 /BPC 8 /CS /G ID ';
  const withLength = (bytes: number): Buffer =>
    signPdf(
      pdfOf(
        new Map([
          [1, '<< /Type /Catalog /Pages 2 0 R >>'],
          [2, '<< /Type /Pages /Kids [4 0 R] /Count 1 /MediaBox [0 0 600 800] >>'],
          [4, '<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>'],
          [5, streamText(page).replace(/\d+/, String(bytes).padStart(6))],
        ]),
      ),
    );
  const lengthUpTo = (text: string): number => {
    const pdf = withLength(0);
    return pdf.lastIndexOf(text) - pdf.lastIndexOf(page);
  };
  it.each([
    ['ends behind it', lengthUpTo('\nendstream')],
    ['should end in it', lengthUpTo('00000>')],
    ['should end behind the file', 999_999],
  ])('and %s', (_, bytes) => {
    const pdf = withLength(bytes);
    const reason = 'object 5 reaches into the value of one';
    expect(findingOf(pdf)).toContain(reason);
    expect(refusalOf(pdf)).toBe('EXISTING_SIGNATURE_INVALID');
    expect(findingOf(revised(pdf, () => undefined))).toContain(reason);
  });
});

describe('the end of a revision', () => {
  it.each([
    ['\n', true],
    ['\f', true],
    ['\0', true],
    ['\xa0', false],
    ['\v', false],
  ])('has white space as the format knows it: %j', (space, expected) => {
    const text = signPdf(signed).toString('latin1').replaceAll('startxref\n', `startxref${space}`);
    const last = text.lastIndexOf('startxref');
    const file = new PdfFile(bytesInMemory(Buffer.from(`${text.slice(0, last)}startxref\n${text.slice(last + 10)}`, 'latin1')));
    expect(endsRevision(file, signed.length)).toBe(expected);
  });
});

describe('many signatures', () => {
  it('are refused beyond 200, before any of them is verified', () => {
    const numbers = Array.from({ length: 201 }, (_, index) => 12 + index);
    const fields = numbers.map((number) => `<< /FT /Sig /T (${number}) /V << /Type /Sig >> >>`);
    const form = `/AcroForm << /Fields [${numbers.map((number) => `${number} 0 R`).join(' ')}] >>`;
    expect(() => findingOf(smallPdf({ catalog: form, objects: fields }))).toThrow('at most 200 signatures');
  });

  it('share the limit of work of the file', () => {
    const file = new PdfFile(bytesInMemory(signed));
    expect(statesSince(bytesInMemory(signed), file, signed.length, undefined).before.bytes.work).toBe(file.bytes.work);
  });
});

describe('a revision with a small stream for many entries', () => {
  const [, previous = ''] = Array.from(signed.toString('latin1').matchAll(/startxref\n(\d+)/g)).at(-1) ?? [];
  const rows = deflateSync(Buffer.alloc(50_000));
  const entries = `/Type /XRef /W [1 0 0] /Index [100 50000] /Size 50100 /Root 1 0 R /Prev ${previous} /Filter /FlateDecode`;
  const head = Buffer.from(`90 0 obj\n<< ${entries} /Length ${rows.length} >>\nstream\n`);
  const pdf = Buffer.concat([signed, head, rows, Buffer.from(`\nendstream\nendobj\nstartxref\n${signed.length}\n%%EOF\n`)]);

  it('counts as work wherever they are looked at', () => {
    const opened = (): PdfFile => new PdfFile(bytesInMemory(pdf));
    const [compared, scanned] = [opened(), opened()];
    expect([compared.bytes.work.isQuick, scanned.bytes.work.isQuick]).toEqual([true, true]);
    statesSince(bytesInMemory(pdf), compared, signed.length, undefined);
    ReferenceScan.of(scanned, [], []);
    expect([compared.bytes.work.isQuick, scanned.bytes.work.isQuick]).toEqual([false, false]);
    expect(findingOf(pdf)).toBeUndefined();
  });
});

describe('what follows a signature', () => {
  it.each([
    ['nothing', '', undefined],
    ['white space', '\r\n\n ', undefined],
    ['a text', 'text', 'belong to no revision'],
    // No part of a revision: the file as such is not complete.
    ['an object', '5 0 obj\n<< >>\nendobj\n', pdfFault],
    ['an object with the old cross-reference', '5 0 obj\n<< >>\nendobj\nstartxref\nOLD\n%%EOF\n', 'belong to no revision'],
    [
      'an object with a trailer alone',
      '5 0 obj\n<< >>\nendobj\ntrailer\n<< /Root 5 0 R >>\nstartxref\nOLD\n%%EOF\n',
      'belong to no revision',
    ],
    ['a comment', '% comment\n', 'belong to no revision'],
  ])('%s', (_, text, reason) => {
    const [, previous = ''] = Array.from(signed.toString('latin1').matchAll(/startxref\n(\d+)/g)).at(-1) ?? [];
    const finding = foundIn(Buffer.concat([signed, Buffer.from(text.replace('OLD', previous))]));
    if (reason === undefined) expect(finding).toBeUndefined();
    else expect(finding).toContain(reason);
  });

  it('a revision that goes on from an older one: the signature is gone', () => {
    const old = smallPdf();
    const other = revised(old, () => undefined).subarray(old.length);
    const text = other.toString('latin1').replace(/startxref\n\d+/, `startxref\n${signed.length}`);
    expect(findingOf(Buffer.concat([signed, Buffer.from(text, 'latin1')]))).toContain('is not in its form');
  });

  it('a file of its own', () => {
    expect(foundIn(Buffer.concat([signed, smallPdf({ content: () => '' })]))).toBeDefined();
  });
});

describe('a changed byte', () => {
  const twice = signPdfWith(signPdfWith(smallPdf({ pages: 2 }), { visibleSignature: {} }), { signatureFormat: 'BASIC' });
  const holes = [range(signed), range(twice)];
  it.each([
    ['one signature', signed, holes[0] ?? []],
    ['two signatures', twice, rangeOfLast(twice)],
  ])('is found wherever it is covered: %s', (_, pdf, [, holeStart = 0, holeEnd = 0]) => {
    expect(findingOf(pdf)).toBeUndefined();
    const offsets = integer({ min: 0, max: pdf.length - (holeEnd - holeStart) - 1 }).map((one) =>
      one < holeStart ? one : one + holeEnd - holeStart,
    );
    assert(
      property(offsets, integer({ min: 1, max: 255 }), (offset, mask) => {
        const changed = Buffer.from(pdf);
        changed[offset] = (changed[offset] ?? 0) ^ mask;
        // Where the cross-reference or the form no longer leads to a signature, the file is one without it.
        if (foundIn(changed) === undefined) expect(signaturesIn(changed)).toBeLessThan(signaturesIn(pdf));
      }),
      { numRuns: 600 },
    );
  });
});

function signaturesIn(pdf: Buffer): number {
  return signaturesOf(new PdfFile(bytesInMemory(pdf))).length;
}

function rangeOfLast(pdf: Buffer): readonly number[] {
  const last = Array.from(pdf.toString('latin1').matchAll(/\/ByteRange \[([\d ]+)\]/g)).at(-1);
  return (last?.[1] ?? '').trim().split(/ +/).map(Number);
}
