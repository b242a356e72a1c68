import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../src/asn1/byte-source.ts';
import { PdfName } from '../../../src/pdf/objects.ts';
import { pages } from '../../../src/pdf/pages.ts';
import { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { qpdfFindings } from '../../support/pdf-judges.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { signPdf, signPdfWith } from './sign-pdf.ts';

const paragraph = '/P << /MCID 0 >> BDC BT /F1 24 Tf 60 700 Td (Contract) Tj ET EMC';

/** A tagged PDF. `tree`: the entries of its tree of parents; `kids`: of the root of its structure. */
function tagged({ tree = '/Nums [0 [14 0 R]]', kids = '13 0 R' } = {}): Buffer {
  return smallPdf({
    catalog: '/MarkInfo << /Marked true >> /Lang (en) /StructTreeRoot 12 0 R',
    page: '/StructParents 0',
    content: () => paragraph,
    objects: [
      `<< /Type /StructTreeRoot /K ${kids} /ParentTree << ${tree} >> /ParentTreeNextKey 1 >>`,
      '<< /Type /StructElem /S /Document /P 12 0 R /K 14 0 R >>',
      '<< /Type /StructElem /S /P /P 13 0 R /Pg 4 0 R /K 0 >>',
      '<< /Limits [0 0] /Nums [0 [14 0 R]] >>',
    ],
  });
}

/** The structure as poppler reads it. */
function structure(pdf: Buffer): string[] {
  return execFileSync('pdfinfo', ['-struct', '-'], { input: pdf, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] })
    .split('\n')
    .filter((line) => line.trim() !== '');
}

describe('a signature of a tagged PDF', () => {
  it.each([
    ['with a flat tree of parents', tagged()],
    ['with a tree of parents that has leaves', tagged({ tree: '/Kids [15 0 R]' })],
    ['whose structure is a list', tagged({ kids: '[13 0 R]' })],
  ])('%s is an element of its structure, with an alternative text', (_, pdf) => {
    const signed = signPdfWith(pdf, { visibleSignature: {} });
    expect(qpdfFindings(signed)).toEqual([]);
    expect(structure(signed)).toEqual(
      ['Document', '  P (block)', '  Form (inline)', '    Object 16 0'].map(
        (line) => expect.stringContaining(line.trim().split(' ')[0] ?? '') as string,
      ),
    );
    const file = new PdfFile(bytesInMemory(signed));
    const [page] = pages(file);
    expect(page?.dictionary.get('Tabs')).toEqual(new PdfName('S'));
    const root = file.dictionary(file.catalog.get('StructTreeRoot'), 'the root');
    expect(root.get('ParentTreeNextKey')).toBe(2);
  });

  it('that is invisible is beside the page, and leaves the structure as it is', () => {
    for (const [box, corner] of [
      ['', '-1 -1'],
      ['/MediaBox [-50 -50 595 842] /CropBox [-20 -30 300 300]', '-21 -31'],
    ] as const) {
      const pdf = smallPdf({
        catalog: '/MarkInfo << /Marked true >> /StructTreeRoot 12 0 R',
        page: box,
        objects: ['<< /Type /StructTreeRoot >>'],
      });
      const signed = signPdf(pdf);
      const file = new PdfFile(bytesInMemory(signed));
      const [page] = pages(file);
      expect(page?.dictionary.get('Tabs')).toEqual(new PdfName('S'));
      const text = signed.subarray(pdf.length).toString('latin1');
      expect(text).toContain(`/Rect [${corner} ${corner}]`);
      expect(text).not.toMatch(/\/StructParent|\/StructElem/);
    }
  });

  it('is one without a place in the structure where the file is not tagged', () => {
    const file = new PdfFile(bytesInMemory(signPdfWith(smallPdf(), { visibleSignature: {} })));
    const [page] = pages(file);
    expect(page?.dictionary.has('Tabs')).toBe(false);
    expect(file.catalog.has('StructTreeRoot')).toBe(false);
  });

  it('has an alternative name in the language of the service', () => {
    const signed = signPdf(tagged(), {}, { locale: { language: 'fr', timeZone: 'UTC' } });
    expect(signed.toString('latin1')).toContain('/TU (Signature de Camille Martin)');
  });

  it('marks an image on its page as an artifact', () => {
    const image = 'R0lGODlhAQABAPAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==';
    const signed = signPdf(tagged(), { contentPreparation: { PDFContent: { image } } });
    expect(signed.toString('latin1')).toContain('/Artifact BMC q ');
    expect(qpdfFindings(signed)).toEqual([]);
  });
});

describe('a signature of a PDF/A', () => {
  const metadata = (part: number): string => {
    const text = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><pdfaid:part>${part}</pdfaid:part></x:xmpmeta>`;
    return `<< /Type /Metadata /Subtype /XML /Length ${text.length} >>\nstream\n${text}\nendstream`;
  };
  const archival = (part: number, intent: string): Buffer =>
    smallPdf({ catalog: `/Metadata 12 0 R ${intent}`, objects: [metadata(part), '<< /Length 0 >>\nstream\n\nendstream'] });
  const intent = '/OutputIntents [<< /Type /OutputIntent /S /GTS_PDFA1 /DestOutputProfile 13 0 R >>]';
  const gif = 'R0lGODlhAgACAPAAAP8AAP///yH5BAEAAAEALAAAAAACAAIAAAIDRAIFADs=';

  it.each([
    [1, intent, false],
    [2, '', false],
    [2, intent, true],
    [3, intent, true],
  ])('of part %d has transparent images as far as that allows', (part, intents, isTransparent) => {
    const text = signPdfWith(archival(part, intents), { visibleSignature: { image: gif } }).toString('latin1');
    expect(text.includes('/SMask')).toBe(isTransparent);
    expect(text).toContain('/DefaultRGB [/CalRGB');
    expect(text).toContain('/CIDSet');
  });

  it('has no colours of its own elsewhere', () => {
    expect(signPdfWith(smallPdf(), { visibleSignature: { image: gif } }).toString('latin1')).not.toContain('/DefaultRGB');
  });
});
