import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import { limitsOfRevisions } from '../../../../src/signatures/pades/verify/revision-signatures.ts';
import { signPdf } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import { findingOf, revised, stream } from './revised-pdf.ts';

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
