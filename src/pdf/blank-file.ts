/**
 * Returns a PDF file with one empty page, to which a revision can add content. Its objects are the
 * catalog, the page tree and the page. `width`, `height`: in 1/72 inch.
 */
export function blankFile({ width, height }: { readonly width: number; readonly height: number }): Uint8Array {
  const objects = [
    '<</Type /Catalog/Pages 2 0 R>>',
    '<</Type /Pages/Kids [3 0 R]/Count 1>>',
    `<</Type /Page/Parent 2 0 R/MediaBox [0 0 ${width} ${height}]/Resources <<>>>>`,
  ];
  // Bytes beyond ASCII in the second line tell programs that the file is binary (ISO 32000-2,
  // 7.5.2).
  let text = '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n';
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const entries = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${entries}`;
  const trailer = `trailer\n<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(text + table + trailer, 'latin1');
}
