import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';

const pageBytes = 95_000;

/** Writes a PDF of about so many bytes, as a scanner makes them: each page has an image that does not compress, of 95 KB. */
export function writePdf(path: string, bytes: number): void {
  const pages = Math.max(1, Math.floor(bytes / (pageBytes + 500)));
  const descriptor = openSync(path, 'w');
  try {
    let written = 0;
    const offsets: number[] = [];
    const write = (piece: string | Buffer): void => {
      const data = typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece;
      writeSync(descriptor, data);
      written += data.length;
    };
    const object = (number: number, ...body: readonly (string | Buffer)[]): void => {
      offsets[number] = written;
      for (const piece of [`${number} 0 obj\n`, ...body, '\nendobj\n']) write(piece);
    };
    const numbers = Array.from({ length: pages }, (_, index) => 3 + index * 3);
    write('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n');
    object(1, '<</Type /Catalog /Pages 2 0 R>>');
    object(2, `<</Type /Pages /Count ${pages} /MediaBox [0 0 595 842] /Kids [${numbers.map((number) => `${number} 0 R`).join(' ')}]>>`);
    for (const number of numbers) {
      object(number, `<</Type /Page /Parent 2 0 R /Contents ${number + 1} 0 R /Resources <</XObject <</I ${number + 2} 0 R>>>>>>`);
      const content = 'q 595 0 0 842 0 0 cm /I Do Q';
      object(number + 1, `<</Length ${content.length}>>\nstream\n${content}\nendstream`);
      const image = `<</Type /XObject /Subtype /Image /Width 250 /Height 380 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length ${pageBytes}>>\nstream\n`;
      object(number + 2, image, randomBytes(pageBytes), '\nendstream');
    }
    const start = written;
    write(`xref\n0 ${offsets.length}\n0000000000 65535 f \n`);
    write(
      offsets
        .slice(1)
        .map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`)
        .join(''),
    );
    write(`trailer\n<</Size ${offsets.length} /Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`);
  } finally {
    closeSync(descriptor);
  }
}
