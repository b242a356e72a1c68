import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { smallPdf } from './small-pdf.ts';

/** A PDF of one page with a structure that has one paragraph. */
export function taggedPdf(): Buffer {
  return smallPdf({
    catalog: '/Lang (en) /MarkInfo << /Marked true >> /StructTreeRoot 12 0 R',
    page: '/StructParents 0',
    content: () => '/P << /MCID 0 >> BDC BT /F1 24 Tf 60 742 Td (Signed in Paris.) Tj ET EMC',
    objects: [
      '<< /Type /StructTreeRoot /K 13 0 R /ParentTree 15 0 R /ParentTreeNextKey 1 >>',
      '<< /Type /StructElem /S /Document /P 12 0 R /K [14 0 R] >>',
      '<< /Type /StructElem /S /P /P 13 0 R /Pg 4 0 R /K 0 >>',
      '<< /Nums [0 [14 0 R]] >>',
    ],
  });
}

/** The PDF with object streams and a cross-reference stream. */
export function inObjectStreams(pdf: Uint8Array): Buffer {
  return qpdf(pdf, ['--object-streams=generate']);
}

export function linearised(pdf: Uint8Array): Buffer {
  return qpdf(pdf, ['--linearize']);
}

function qpdf(pdf: Uint8Array, options: readonly string[]): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-qpdf-'));
  try {
    const [from, to] = [join(directory, 'from.pdf'), join(directory, 'to.pdf')];
    writeFileSync(from, pdf);
    execFileSync('qpdf', [...options, from, to], { stdio: ['ignore', 'ignore', 'pipe'] });
    return readFileSync(to);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
