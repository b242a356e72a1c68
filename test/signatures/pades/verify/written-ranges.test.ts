import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import { goneSignatures, limitsOfRevisions } from '../../../../src/signatures/pades/verify/revision-signatures.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { withForm } from './form-pdf.ts';
import { changing, findingOf, reference, revised, stream } from './revised-pdf.ts';

const approved = signPdf(withForm({ form: '/Other [<<>><<>>]' }));

describe('a byte range that is written in a file', () => {
  const [start, end] = [approved.indexOf('<<'), approved.indexOf('>>') + 2];
  const rest = approved.length - end;
  const withText = (text: string): Buffer => revised(approved, (revision) => revision.add(stream(text)));

  it('counts where it can be that of a signature', () => {
    expect(findingOf(withText(`[0 ${start} ${end} ${rest}]`))).toContain('a signature of the document');
    expect(findingOf(withText(`[000 ${start} ${end} ${rest}]`))).toContain('a signature of the document');
  });

  it.each([
    ['does not begin at 0', [1, start, end, rest]],
    ['has no string in its hole', [0, start + 2, end, rest]],
    ['has more than a string in its hole', [0, start, end + 1, rest - 1]],
    ['has its hole from behind', [0, approved.indexOf('<<', end), end, rest]],
    ['has nothing in its hole', [0, approved.indexOf('><') + 1, approved.indexOf('><') + 1, approved.length - approved.indexOf('><') - 1]],
    ['ends behind the file', [0, start, end, rest + 500]],
    ['ends where no revision does', [0, start, end, rest - 10]],
    ['has five numbers', [0, start, end, rest, 0]],
    ['has three numbers', [0, start, end]],
  ])('is none of a signature if it %s', (_, numbers) => {
    expect(findingOf(revised(withText(`[${numbers.join(' ')}]`), () => undefined))).toBeUndefined();
  });

  it('counts beside a signature that has the same hole, or the same end', () => {
    const later = revised(approved, () => undefined);
    const [, from = 0, until = 0] = /\/ByteRange \[0 (\d+) +(\d+)/.exec(approved.toString('latin1'))?.map(Number) ?? [];
    const text = stream(`[0 ${from} ${until} ${later.length - until}]`);
    expect(findingOf(revised(later, (revision) => revision.add(text)))).toContain(`over its first ${later.length} bytes`);
    expect(findingOf(revised(later, () => undefined))).toBeUndefined();
  });

  it('is one of 200 at most for which earlier revisions are read, and of 10,000 in all', () => {
    const [first, last] = [100, 101];
    const pdf = signPdf(revised(withForm(), (revision) => revision.add(stream('<'.repeat(first) + '>'.repeat(last)))));
    const [from, until] = [pdf.indexOf('<'.repeat(first)), pdf.indexOf('>'.repeat(last)) + 1];
    const ranges = Array.from({ length: first * last }, (_, index) => {
      const behind = until + Math.floor(index / first);
      return `[0 ${from + (index % first)} ${behind} ${pdf.length - behind}]`;
    });
    const limitsOf = (count: number) => () => {
      // That of the signature itself counts once, and so does one that is there twice.
      const texts = [...ranges.slice(0, count), ...ranges.slice(0, 1)];
      return limitsOfRevisions(new PdfFile(bytesInMemory(revised(pdf, (revision) => revision.add(stream(texts.join('\n')))))));
    };
    expect(limitsOf(200)()).toEqual({ level: undefined });
    expect(limitsOf(201)).toThrow('more than 200 signatures of which earlier revisions must be read');
    expect(limitsOf(9999)).toThrow('more than 200 signatures of which');
    expect(limitsOf(10_000)).toThrow('byte ranges of more than 10000 signatures');
  });
});

describe('the text of a byte range', () => {
  const pdf = smallPdf();
  const [start, end] = [pdf.indexOf('<<'), pdf.indexOf('>>') + 2];
  const rest = pdf.length - end;
  const stopsIn = (text: string, padding = 0): readonly number[] => {
    const file = new PdfFile(bytesInMemory(revised(pdf, (revision) => revision.add(stream(`${'x'.repeat(padding)}${text}`)))));
    return Array.from(goneSignatures(file), ({ stop }) => stop);
  };

  it.each(['\0', '\t', '\n', '\f', '\r', ' ', '%a\n', '%\r', '  %a\n\t'])('may have white space and comments: %j', (gap) => {
    expect(stopsIn(`[${gap}0${gap}${start}${gap}${end}${gap}${rest}${gap}]`)).toEqual([pdf.length]);
    expect(stopsIn(`[0${gap}${start}${gap}${end}${gap}${rest}]`)).toEqual([pdf.length]);
  });

  it('has numbers of up to 15 digits', () => {
    const padded = (count: number, at: number): string =>
      [0, start, end, rest].map((one, index) => String(one).padStart(index === at ? count : 1, '0')).join(' ');
    for (const at of [0, 1, 2, 3]) expect([15, 16].map((count) => stopsIn(`[${padded(count, at)}]`))).toEqual([[pdf.length], []]);
    expect(stopsIn(`[0${start} ${end} ${rest}]`)).toEqual([]);
  });

  it('is found wherever it stands, with the white space that fills its room', () => {
    const piece = 256 * 1024;
    const text = `[0 ${start} ${end} ${rest}`.padEnd(1024).concat(']');
    const at = (padding: number): number => revised(pdf, (revision) => revision.add(stream(`${'x'.repeat(padding)}${text}`))).indexOf(text);
    const padding = 200_000 + piece - 1 - at(200_000);
    expect(at(padding)).toBe(piece - 1);
    for (const offset of [-1, 0, 1]) expect(stopsIn(text, padding + offset)).toEqual([pdf.length]);
  });
});

describe('what earlier revisions allow', () => {
  const limitsOf = (pdf: Buffer): unknown => limitsOfRevisions(new PdfFile(bytesInMemory(pdf)));
  const certified = signPdfWith(smallPdf({ catalog: '/AcroForm 12 0 R', objects: ['<< /Fields [] >>'] }), { docMDPLevel: 'LEVEL_2' });
  const extended = (pdf: Buffer): Buffer => revised(pdf, () => undefined);

  it('is not what the newest one says, and the least of what the others do', () => {
    expect(limitsOf(certified)).toEqual({ level: undefined });
    expect(limitsOf(extended(certified))).toEqual({ level: 2 });
    const locked = signPdfWith(certified, { documentLock: true });
    expect(limitsOf(locked)).toEqual({ level: 2 });
    expect(limitsOf(extended(locked))).toEqual({ level: 1 });
    // Nor does a later signature allow what an earlier one forbids.
    expect(limitsOf(extended(signPdf(certified)))).toEqual({ level: 2 });
  });

  it('is known beside a range that ends where no file can be read', () => {
    const before = smallPdf();
    const damaged = revised(before, (revision) => revision.add(stream('startxref\n9\n%%EOF\n')));
    const stop = damaged.indexOf('%%EOF\n', before.length) + 6;
    const [from, until] = [damaged.indexOf('<<'), damaged.indexOf('>>') + 2];
    const named = revised(damaged, (revision) => revision.add(stream(`[0 ${from} ${until} ${stop - until}]`)));
    const later = extended(signPdfWith(named, { docMDPLevel: 'LEVEL_2' }));
    expect(Array.from(goneSignatures(new PdfFile(bytesInMemory(later))))).toEqual([{ name: 'a signature', stop }]);
    expect(limitsOf(later)).toEqual({ level: 2 });
  });

  it('is there as long as the catalog names the signature', () => {
    const emptied = revised(certified, (revision) => changing(revision, reference(12), { Fields: [] }));
    expect(Array.from(goneSignatures(new PdfFile(bytesInMemory(emptied))))).toEqual([]);
  });
});
