/** Options of a PDF that a test makes. */
export interface SmallPdf {
  readonly pages?: number;
  /** In 1/72 inch. */
  readonly width?: number;
  readonly height?: number;
  /** Further entries of each page, of the catalog, and of the page tree. */
  readonly page?: string;
  readonly catalog?: string;
  readonly tree?: string;
  /** Further objects, from number 10 + 2 × pages on. */
  readonly objects?: readonly string[];
  /** Content of a page, by its number from 1 on. */
  readonly content?: (number: number) => string;
}

/**
 * Returns a PDF with a cross-reference table: object 1 is the catalog, 2 the page tree, 3 a font; page n is
 * object 2 + 2n, and its content the one after it.
 */
export function smallPdf(options: SmallPdf = {}): Buffer {
  const { pages = 1, width = 595, height = 842, page = '', catalog = '', tree = '', objects = [] } = options;
  const { content = (number: number): string => `BT /F1 24 Tf 60 ${height - 100} Td (Page ${number}) Tj ET` } = options;
  const numbers = Array.from({ length: pages }, (_, index) => index + 1);
  const bodies = new Map<number, string>([
    [1, `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`],
    [
      2,
      `<< /Type /Pages /Kids [${numbers.map((one) => `${2 + 2 * one} 0 R`).join(' ')}] /Count ${pages} /MediaBox [0 0 ${width} ${height}] /Resources << /Font << /F1 3 0 R >> >> ${tree} >>`,
    ],
    [3, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'],
  ]);
  for (const number of numbers) {
    const text = content(number);
    bodies.set(2 + 2 * number, `<< /Type /Page /Parent 2 0 R /Contents ${3 + 2 * number} 0 R ${page} >>`);
    bodies.set(3 + 2 * number, `<< /Length ${text.length} >>\nstream\n${text}\nendstream`);
  }
  for (const [index, body] of objects.entries()) bodies.set(10 + 2 * pages + index, body);
  return pdfOf(bodies);
}

/** Returns a PDF with these objects by their numbers; 1 is the catalog. */
export function pdfOf(bodies: ReadonlyMap<number, string>, trailer = ''): Buffer {
  const size = Math.max(...bodies.keys()) + 1;
  let text = '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n';
  const offsets = new Map<number, number>();
  for (const [number, body] of bodies) {
    offsets.set(number, text.length);
    text += `${number} 0 obj\n${body}\nendobj\n`;
  }
  const start = text.length;
  text += `xref\n0 ${size}\n`;
  for (let number = 0; number < size; number += 1) {
    const offset = offsets.get(number);
    text += offset === undefined ? `0000000000 ${number === 0 ? '65535' : '00000'} f \n` : `${String(offset).padStart(10, '0')} 00000 n \n`;
  }
  text += `trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(text, 'latin1');
}
