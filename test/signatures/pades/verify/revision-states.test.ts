import { describe, expect, it } from 'vitest';
import { bytesInMemory, type ByteSource } from '../../../../src/asn1/byte-source.ts';
import { PdfDictionary, type PdfObject } from '../../../../src/pdf/objects.ts';
import { PdfFault } from '../../../../src/pdf/pdf-fault.ts';
import { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import { goneSignatures, limitsOfRevisions } from '../../../../src/signatures/pades/verify/revision-signatures.ts';
import { pdfOf } from '../../../support/small-pdf.ts';
import { signPdfWith } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import { changing, findingOf, reference, revised, signedByHand, stream } from './revised-pdf.ts';

const bodies = new Map([
  [1, '<< /Type /Catalog /Pages 2 0 R >>'],
  [2, '<< /Type /Pages /Kids [] /Count 0 >>'],
]);

/** The byte range of a signature over a whole file, with a dictionary of it as the hole. */
function rangeOver(pdf: Buffer): string {
  const [start, end] = [pdf.indexOf('<<'), pdf.indexOf('>>') + 2];
  return `[0 ${start} ${end} ${pdf.length - end}]`;
}

/** Returns a file with a revision that names no other one, and a text in it. */
function startedAnew(pdf: Buffer, text: string): Buffer {
  const objects = [...bodies, [3, `<< /Length ${text.length} >>\nstream\n${text}\nendstream`] as const];
  let added = '';
  let table = 'xref\n0 1\n0000000000 65535 f \n';
  for (const [number, body] of objects) {
    table += `${number} 1\n${String(pdf.length + added.length).padStart(10, '0')} 00000 n \n`;
    added += `${number} 0 obj\n${body}\nendobj\n`;
  }
  const trailer = `trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n${pdf.length + added.length}\n%%EOF\n`;
  return Buffer.concat([pdf, Buffer.from(added + table + trailer)]);
}

const gone = (pdf: Buffer): readonly unknown[] => Array.from(goneSignatures(new PdfFile(bytesInMemory(pdf))));

describe('a signature whose revision is encrypted, and the file is not any more', () => {
  it.each(['/Filter /Adobe.PubSec', `/Filter /Standard /V 1 /R 2 /P -4 /O <${'00'.repeat(32)}> /U <${'00'.repeat(32)}>`])(
    'is gone, and says nothing of what is allowed: %s',
    (entries) => {
      const locked = pdfOf(bodies, `/Encrypt << ${entries} >>`);
      const later = startedAnew(locked, rangeOver(locked));
      expect(gone(later)).toEqual([{ name: 'a signature', stop: locked.length }]);
      expect(limitsOfRevisions(new PdfFile(bytesInMemory(later)))).toEqual({ level: undefined });
    },
  );
});

describe('usage rights', () => {
  const value = (): Uint8Array => Buffer.of(0x30, 0);
  const numberOf = (pdf: Buffer): number => Number(/(\d+) 0 obj\n<<\/Type \/Sig\//.exec(pdf.toString('latin1'))?.[1]);
  const withPermissions = (permissions: PdfObject, more: Readonly<Record<number, PdfObject>> = {}): Buffer =>
    revised(withForm(), (revision) => {
      changing(revision, revision.file.catalogReference, { Perms: permissions });
      for (const [number, object] of Object.entries(more)) revision.set(reference(Number(number)), object);
    });
  /** Of a signature that no form has, in a file with these permissions. */
  const finding = (permissions: PdfObject, more: Readonly<Record<number, PdfObject>> = {}): string | undefined =>
    findingOf(signedByHand(withPermissions(permissions, more), { existing: 12, value }));
  const rights = reference(numberOf(signedByHand(withPermissions(reference(95), { 95: null }), { existing: 12, value })));

  it('are those that the permissions name, also from objects of their own', () => {
    expect(finding(reference(95), { 95: PdfDictionary.of({ UR3: rights }) })).toBeUndefined();
    expect(finding(reference(95), { 95: PdfDictionary.of({ UR: rights }) })).toBeUndefined();
  });

  it('are not any signature, where the permissions name another one', () => {
    const others = { 95: PdfDictionary.of({ UR3: reference(94) }), 94: PdfDictionary.of({ ByteRange: [0, 1, 2, 3] }) };
    expect(finding(reference(95), others)).toContain('is not in its form');
    expect(finding(reference(95), { ...others, 94: null })).toContain('is not in its form');
    expect(finding(reference(95), { 95: [rights] })).toContain('is not in its form');
  });
});

describe('several signatures that are gone', () => {
  it('are named in the order of their revisions, whatever the order of their ranges in the file', () => {
    const first = pdfOf(bodies);
    const second = revised(first, () => undefined);
    const later = revised(second, (revision) => revision.add(stream(`${rangeOver(second)} ${rangeOver(first)}`)));
    expect(gone(later)).toEqual([first, second].map(({ length }) => ({ name: 'a signature', stop: length })));
  });

  it('are not read behind one that allows nothing', () => {
    const certified = signPdfWith(withForm(), { docMDPLevel: 'LEVEL_1' });
    const later = revised(certified, (revision) => revision.add(stream(`${'<'.repeat(20)}${'>'.repeat(20)}`)));
    const [first, last] = [later.indexOf('<'.repeat(20)), later.indexOf('>'.repeat(20)) + 1];
    const ranges = Array.from({ length: 201 }, (_, index) => {
      const end = last + Math.floor(index / 20);
      return `[0 ${first + (index % 20)} ${end} ${later.length - end}]`;
    });
    const named = revised(later, (revision) => revision.add(stream(ranges.join('\n'))));
    expect(limitsOfRevisions(new PdfFile(bytesInMemory(named)))).toEqual({ level: 1 });
  });
});

describe('what earlier revisions allow, and whether their signatures are there', () => {
  const certified = signPdfWith(withForm(), { docMDPLevel: 'LEVEL_2' });
  const later = revised(certified, () => undefined);

  it('is not known where there is too much work to find out', () => {
    const workMaxBytes = 512 * 1024 * 1024;
    const limitsWith = (leftBytes: number): unknown => {
      const file = new PdfFile(bytesInMemory(later));
      try {
        file.bytes.work.parsed(workMaxBytes - leftBytes);
        return [limitsOfRevisions(file).level, ...goneSignatures(file)];
      } catch (error) {
        if (error instanceof PdfFault) return 'too much work';
        throw error;
      }
    };
    const found = Array.from({ length: 400 }, (_, index) => limitsWith(index * 100));
    expect(found[0]).toBe('too much work');
    expect(found.at(-1)).toEqual([2]);
    expect(found.filter((one) => one !== 'too much work' && JSON.stringify(one) !== '[2]')).toEqual([]);
  });

  it('is not known where the file cannot be read for a moment', () => {
    /** Fails in one reading, counted from 0. */
    const failingAt = (failing: number): { readonly source: ByteSource; readonly readings: () => number } => {
      let count = 0;
      const windowAt = (offset: number): Uint8Array => {
        count += 1;
        if (count - 1 === failing) throw new Error('the disk');
        return later.subarray(offset);
      };
      return { source: { bytes: later.length, windowAt }, readings: () => count };
    };
    const reading = (failing: number): number => {
      const { source, readings } = failingAt(failing);
      const file = new PdfFile(source);
      expect([limitsOfRevisions(file).level, ...goneSignatures(file)]).toEqual([2]);
      return readings();
    };
    const readings = reading(-1);
    expect(readings).toBeGreaterThan(1);
    for (let failing = 0; failing < readings; failing += 1) expect(() => reading(failing)).toThrow('the disk');
  });
});
