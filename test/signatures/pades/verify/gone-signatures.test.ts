import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import { PdfDictionary, PdfName, type PdfObject } from '../../../../src/pdf/objects.ts';
import { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import type { Revision } from '../../../../src/pdf/revision.ts';
import { Refusal } from '../../../../src/result-codes.ts';
import { limitsOfRevisions } from '../../../../src/signatures/pades/verify/revision-signatures.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import {
  changing,
  findingOf,
  firstPage,
  reference,
  refusalOf,
  revised,
  signedByHand,
  stamped,
  stream,
  withObjects,
} from './revised-pdf.ts';

const form = (revision: Revision, entries: Readonly<Record<string, PdfObject>>): void => changing(revision, reference(14), entries);
const catalog = (revision: Revision, entries: Readonly<Record<string, PdfObject>>): void =>
  changing(revision, revision.file.catalogReference, entries);
const signatureNumber = (pdf: Buffer, key: string): number =>
  Number(new RegExp(`(\\d+) 0 obj\\n<<[^\\n]*${key}`).exec(pdf.toString('latin1'))?.[1]);

/** Ways to take a signature out of the form of `withForm`, where its widget stays on the page or does not. */
const ways: Readonly<Record<string, (revision: Revision, pdf: Buffer) => void>> = {
  'a form without fields': (revision) => form(revision, { Fields: [] }),
  'no form': (revision) => catalog(revision, { AcroForm: null }),
  'another form': (revision) => catalog(revision, { AcroForm: revision.add(PdfDictionary.of({ Fields: [] })) }),
  'another type of the field': (revision, pdf) =>
    changing(revision, reference(signatureNumber(pdf, '/FT /Sig[^\\n]*/V')), { FT: new PdfName('Tx') }),
  'no value of the field': (revision, pdf) => changing(revision, reference(signatureNumber(pdf, '/FT /Sig[^\\n]*/V')), { V: null }),
  'another signature dictionary': (revision, pdf) => {
    const other = PdfDictionary.of({ Type: new PdfName('Sig'), Filter: new PdfName('Adobe.PPKLite') });
    revision.set(reference(signatureNumber(pdf, '/Type /Sig/')), other);
  },
  'no field, and no widget': (revision) => {
    form(revision, { Fields: [] });
    changing(revision, firstPage(revision), { Annots: [] });
  },
};

const emptied = (revision: Revision): void => form(revision, { Fields: [] });
/** Of the file, as it is searched. */
const pieceBytes = 256 * 1024;

function stripped(pdf: Buffer, way: (revision: Revision, pdf: Buffer) => void): Buffer {
  return revised(pdf, (revision) => {
    way(revision, pdf);
    if (revision.file.catalog.has('Perms')) catalog(revision, { Perms: null });
    revision.set(reference(5), stream('BT /F1 24 Tf 60 700 Td (PAY 999999) Tj ET'));
  });
}

/** Returns a PDF with a revision that names all objects anew, and no revision before it. */
const alone = (pdf: Buffer, without: readonly number[]): Buffer => {
  const file = new PdfFile(bytesInMemory(pdf));
  const lines = Array.from(file.crossReference.inUse(file.bytes.work)).map(([number, entry]) =>
    entry.kind !== 'FILE' || without.includes(number) ? '' : `${number} 1\n${String(entry.offset).padStart(10, '0')} 00000 n \n`,
  );
  const emptyForm = '14 0 obj\n<< /Fields [] >>\nendobj\n';
  const table = `xref\n0 1\n0000000000 65535 f \n${lines.join('')}14 1\n${String(pdf.length).padStart(10, '0')} 00000 n \n`;
  const trailer = `trailer\n<< /Size ${file.crossReference.size} /Root 1 0 R >>\nstartxref\n${pdf.length + emptyForm.length}\n%%EOF\n`;
  return Buffer.concat([pdf, Buffer.from(emptyForm + table + trailer)]);
};

/** Why a request without validateSignatures is refused. */
function codeOf(pdf: Buffer, parameters: Readonly<Record<string, unknown>> = {}): string | undefined {
  try {
    signPdfWith(pdf, parameters);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('a signature that an earlier revision has, and the newest one does not', () => {
  const approved = signPdf(withForm());
  const certified = signPdfWith(withForm(), { docMDPLevel: 'LEVEL_1' });

  it.each(Object.entries(ways))('does not hold any more: %s', (_, way) => {
    for (const pdf of [approved, certified, signPdfWith(withForm(), { docMDPLevel: 'LEVEL_2' })]) {
      expect(findingOf(pdf)).toBeUndefined();
      const changed = stripped(pdf, way);
      expect(findingOf(changed)).toContain('of the document');
      expect(refusalOf(changed)).toBe('EXISTING_SIGNATURE_INVALID');
      // And one revision later.
      expect(refusalOf(withObjects(changed, { 90: 'null' }))).toBe('EXISTING_SIGNATURE_INVALID');
    }
  });

  it('is named', () => {
    const changed = stripped(approved, emptied);
    expect(findingOf(changed)).toBe(
      `/inputDocuments/0: the signature "Signature1" of the document, over its first ${approved.length} bytes, is not in its form`,
    );
    expect(findingOf(revised(signPdf(approved), emptied))).toContain(
      `"Signature1" of the document, over its first ${approved.length} bytes`,
    );
  });

  it('does not hold where another one does', () => {
    const changed = stripped(approved, emptied);
    expect(refusalOf(signPdf(changed))).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it.each(Object.entries(ways))('forbids what it forbade: %s', (_, way) => {
    expect(codeOf(stripped(certified, way))).toBe('NOT_PERMITTED_BY_DOCUMENT');
    expect(codeOf(stripped(approved, way))).toBeUndefined();
    const level2 = stripped(signPdfWith(withForm(), { docMDPLevel: 'LEVEL_2' }), way);
    expect([codeOf(level2), codeOf(level2, { docMDPLevel: 'LEVEL_2' })]).toEqual([undefined, 'NOT_PERMITTED_BY_DOCUMENT']);
  });

  it('forbids what it forbade where its reference leads to something else now', () => {
    const parameters = PdfDictionary.of({ Type: new PdfName('TransformParams'), P: 1, V: new PdfName('1.2') });
    const signatureReference = PdfDictionary.of({ TransformMethod: new PdfName('DocMDP'), TransformParams: reference(91) });
    const prepared = revised(withForm(), (revision) => revision.set(reference(91), parameters));
    const signed = signedByHand(prepared, { entries: { Reference: [signatureReference] }, value: () => Buffer.of(0x30, 0) });
    expect(codeOf(signed)).toBe('NOT_PERMITTED_BY_DOCUMENT');
    const changed = revised(signed, (revision) => revision.set(reference(91), PdfDictionary.of({ P: 3 })));
    expect(codeOf(changed)).toBe('NOT_PERMITTED_BY_DOCUMENT');
  });

  // Both in `codeOf`: whether it can be signed, and whether it can be certified.
  const forbidden = 'NOT_PERMITTED_BY_DOCUMENT';
  it.each([
    [
      [1, 3],
      [forbidden, forbidden],
    ],
    [
      [3, 1],
      [forbidden, forbidden],
    ],
    [
      [undefined, 1],
      [forbidden, forbidden],
    ],
    [
      [1, undefined],
      [forbidden, forbidden],
    ],
    [
      [2, undefined],
      [undefined, forbidden],
    ],
    [
      [2, 3],
      [undefined, forbidden],
    ],
    [
      [3, 2],
      [undefined, forbidden],
    ],
    [
      [undefined, 3],
      [undefined, forbidden],
    ],
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  ])('forbids what the strictest of several forbade, where each was taken out before the next: levels %j', (levels, codes) => {
    let pdf = withForm();
    for (const level of levels) {
      const parameters = PdfDictionary.of({ Type: new PdfName('TransformParams'), P: level ?? 3, V: new PdfName('1.2') });
      const certifying = [PdfDictionary.of({ TransformMethod: new PdfName('DocMDP'), TransformParams: parameters })];
      const entries = level === undefined ? {} : { Reference: certifying };
      pdf = revised(signedByHand(pdf, { entries, value: () => Buffer.of(0x30, 0) }), emptied);
    }
    expect([codeOf(pdf), codeOf(pdf, { docMDPLevel: 'LEVEL_2' })]).toEqual(codes);
    const known = levels.flatMap((level) => level ?? []);
    expect(limitsOfRevisions(new PdfFile(bytesInMemory(pdf))).level).toBe(known.length === 0 ? undefined : Math.min(...known));
  });

  it('is a document time-stamp, too', async () => {
    const pdf = await stamped(withForm());
    expect(refusalOf(stripped(pdf, emptied))).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('is one that no form has ever had, on a page', () => {
    const pdf = signedByHand(withForm(), { value: () => Buffer.of(0x30, 0) });
    const widgetOnly = revised(pdf, (revision) => form(revision, { Fields: [reference(12), reference(13)] }));
    expect(refusalOf(widgetOnly)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('has a byte range whose name is written in numbers', () => {
    const text = approved.toString('latin1');
    const escaped = Buffer.from(text.replace(/\/ByteRange (\[[^\]]*?) {4}\]/, '/B#79te#52ange $1]'), 'latin1');
    expect([escaped.length, escaped.equals(approved), escaped.indexOf('#79te#52ange') > 0]).toEqual([approved.length, false, true]);
    expect(refusalOf(stripped(escaped, emptied))).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it.each([
    ['digits of either case', '/#42y#74#65Ra#6Ege [$1 ]'],
    ['white space', '/B#79teRange\0\t[\f\n$1\r]'],
    ['a comment', '/ByteRange%[\n[$1 %]\r ]'],
  ])('has a byte range with %s', (_, way) => {
    const text = approved.toString('latin1');
    const [whole = '', numbers = ''] = /\/ByteRange \[([\d ]+)\]/.exec(text) ?? [];
    const range = numbers.trim().split(/ +/).join(' ');
    const written = text.replace(whole, way.replace('$1', range.padEnd(whole.length + 2 - way.length)));
    expect([written.length, written === text]).toEqual([text.length, false]);
    expect(refusalOf(stripped(Buffer.from(written, 'latin1'), emptied))).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('has a byte range that is an object of its own', () => {
    const pdf = signedByHand(withForm(), { range: 91, value: () => Buffer.of(0x30, 0) });
    expect(findingOf(stripped(pdf, emptied))).toContain('is not in its form');
  });

  it('is found wherever the pieces end in which the file is read', () => {
    const head = approved.indexOf('/ByteRange');
    for (const before of [0, 12, 24, 36, 48]) {
      const moved = signPdf(withForm({ form: ' '.repeat(pieceBytes - head - before) }));
      expect(Math.abs(moved.indexOf('/ByteRange') + before - pieceBytes)).toBeLessThan(12);
      expect(findingOf(stripped(moved, emptied))).toContain('is not in its form');
    }
  });

  it('does not hold where its revision cannot be read', () => {
    const at = approved.lastIndexOf('startxref\n') + 10;
    const changed = alone(approved, [14]);
    changed.write('9'.repeat(approved.indexOf('\n', at) - at), at);
    expect(findingOf(changed)).toContain('a signature of the document');
    expect(codeOf(changed)).toBeUndefined();
  });

  it('does not hold where the form of its revision cannot be read', () => {
    const change = (revision: Revision): void => revision.set(reference(14), PdfDictionary.of({ Fields: 7 }));
    const changed = revised(signedByHand(withForm(), { change, value: () => Buffer.of(0x30, 0) }), emptied);
    expect([findingOf(changed), codeOf(changed)]).toEqual([expect.stringContaining('a signature of the document'), undefined]);
  });

  it('is gone as well where the permissions name it as usage rights', () => {
    const changed = stripped(approved, emptied);
    const rights = revised(changed, (revision) =>
      catalog(revision, { Perms: PdfDictionary.of({ UR3: reference(signatureNumber(approved, '/Type /Sig/')) }) }),
    );
    expect(refusalOf(rights)).toBe('EXISTING_SIGNATURE_INVALID');
  });
});

describe('a signature of a revision from which the file does not go on', () => {
  const pdf = signPdfWith(withForm(), { docMDPLevel: 'LEVEL_1' });
  const number = signatureNumber(pdf, '/Type /Sig/');
  const verdicts = (changed: Buffer): readonly unknown[] => [refusalOf(changed), codeOf(changed)];
  const refused = ['EXISTING_SIGNATURE_INVALID', 'NOT_PERMITTED_BY_DOCUMENT'];

  it.each([
    ['has it', [14]],
    ['does not have it', [14, number]],
  ])('counts where the file %s', (_, without) => {
    const withoutPermissions = revised(pdf, (revision) => catalog(revision, { Perms: null }));
    expect(verdicts(alone(withoutPermissions, without))).toEqual(refused);
  });

  it('counts where readers find a copy of it on a page', () => {
    const text = pdf.toString('latin1');
    const dictionary = new RegExp(`\\n${number} 0 obj\\n(<<.*?>>)\\nendobj`, 's').exec(text)?.[1] ?? '';
    const widget = signatureNumber(pdf, '/FT /Sig[^\\n]*/V');
    const copied = withObjects(pdf, { 90: dictionary });
    const shown = revised(copied, (revision) => {
      changing(revision, reference(widget), { V: reference(90) });
      catalog(revision, { Perms: null });
    });
    expect(verdicts(alone(shown, [14, number]))).toEqual(refused);
  });

  it('counts where the revision before it goes on', () => {
    const before = pdf.lastIndexOf('startxref', pdf.lastIndexOf('startxref') - 1);
    const [, offset = ''] = /startxref\s+(\d+)/.exec(pdf.toString('latin1', before)) ?? [];
    const emptyForm = '14 0 obj\n<< /Fields [] >>\nendobj\n';
    const table = `xref\n0 1\n0000000000 65535 f \n14 1\n${String(pdf.length).padStart(10, '0')} 00000 n \n`;
    const trailer = `trailer\n<< /Size 99 /Root 1 0 R /Prev ${offset} >>\nstartxref\n${pdf.length + emptyForm.length}\n%%EOF\n`;
    const changed = Buffer.concat([pdf, Buffer.from(emptyForm + table + trailer)]);
    expect(new PdfFile(bytesInMemory(changed)).crossReference.sections.length).toBe(2);
    expect(verdicts(changed)).toEqual(refused);
  });
});

describe('what is no signature that is gone', () => {
  it('is one that is there, among several', async () => {
    const pdf = await stamped(signPdf(signPdfWith(withForm(), { docMDPLevel: 'LEVEL_2' })));
    expect([findingOf(pdf), refusalOf(pdf)]).toEqual([undefined, undefined]);
  });

  it.each(['UR', 'UR3'])('are usage rights, which readers take away: %s', (key) => {
    const value = { existing: 12, value: (): Uint8Array => Buffer.of(0x30, 0) };
    const number = signatureNumber(signedByHand(withForm(), value), '/Type /Sig/');
    const named = revised(withForm(), (revision) => catalog(revision, { Perms: PdfDictionary.of({ [key]: reference(number) }) }));
    const rights = signedByHand(named, value);
    expect(findingOf(rights)).toBeUndefined();
    const away = revised(rights, (revision) => catalog(revision, { Perms: null }));
    expect([findingOf(away), codeOf(away)]).toEqual([undefined, undefined]);
    // A signature of the form is none of them, whatever the permissions name.
    const both = stripped(signedByHand(named.subarray(), { existing: 13, value: value.value }), (revision) => {
      emptied(revision);
    });
    expect(findingOf(both)).toContain('is not in its form');
    // Without the permissions it is a signature that no form has.
    expect(findingOf(signedByHand(withForm(), value))).toContain('is not in its form');
  });

  it('is a byte range in a text, or one that covers no revision', () => {
    const pdf = revised(signPdf(withForm()), (revision) => {
      const texts = ['/ByteRange [0 10 20 30]', '/ByteRange [0 10 20 99999999]', '/ByteRange [1 2 3 4]', '/ByteRange [0 20 10 30]'];
      revision.add(stream(texts.join('\n')));
    });
    expect(findingOf(pdf)).toBeUndefined();
  });
});
