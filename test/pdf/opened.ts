import { bytesInMemory, type ByteSource } from '../../src/asn1/byte-source.ts';
import { PdfFile } from '../../src/pdf/pdf-file.ts';

export function opened(pdf: Uint8Array, password?: string): PdfFile {
  return new PdfFile(bytesInMemory(pdf), password);
}

/** A source that counts the bytes that were read from it, in windows as a file has them. */
export function countedSource(pdf: Uint8Array): { readonly source: ByteSource; readonly bytesRead: () => number } {
  let count = 0;
  return {
    source: {
      bytes: pdf.length,
      windowAt(offset) {
        const window = pdf.subarray(offset, offset + 128 * 1024);
        count += window.length;
        return window;
      },
    },
    bytesRead: () => count,
  };
}
