import { PdfFault } from './pdf-fault.ts';

/** Objects that are read again and again, since they are too many to be kept, included. */
const parsedMaxBytes = 512 * 1024 * 1024;
const decodedMaxBytes = 1024 * 1024 * 1024;

/**
 * Counts the work that one file makes. A small file can demand a lot of it: by objects that overlap,
 * or by streams that are a thousand times as large without their filters.
 */
export class WorkLimit {
  #parsedBytes = 0;
  #decodedBytes = 0;

  /** @throws {PdfFault} beyond 512 MiB in total */
  parsed(bytes: number): void {
    this.#parsedBytes += bytes;
    if (this.#parsedBytes > parsedMaxBytes) throw new PdfFault(`the objects to be read have more than ${parsedMaxBytes} bytes in total`);
  }

  /** @throws {PdfFault} beyond 1 GiB in total */
  decoded(bytes: number): void {
    this.#decodedBytes += bytes;
    if (this.#decodedBytes > decodedMaxBytes)
      throw new PdfFault(`the streams to be read have more than ${decodedMaxBytes} bytes in total without their filters`);
  }
}
