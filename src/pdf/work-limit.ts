import { PdfFault } from './pdf-fault.ts';

/**
 * Bytes of objects, those included that are read again since too many are needed to be kept, and
 * bytes of streams.
 */
export interface WorkMax {
  readonly parsedBytes: number;
  readonly decodedBytes: number;
}

const usual: WorkMax = { parsedBytes: 512 * 1024 * 1024, decodedBytes: 1024 * 1024 * 1024 };
/** Takes less than about ten milliseconds. */
const quick: WorkMax = { parsedBytes: 256 * 1024, decodedBytes: 512 * 1024 };
/** Reading an object takes at least as long as parsing this much. */
const objectBytes = 200;
/** Looking at an entry of the cross-reference takes as long as parsing this much. */
const entryBytes = 8;

/** Thrown for a file that is to be read quickly, and takes longer. */
export class NotQuick extends Error {}

/**
 * Counts the work that one file makes. A small file can demand a lot of it: by objects that
 * overlap, or by streams that are a thousand times as large without their filters.
 */
export class WorkLimit {
  readonly #mustBeQuick: boolean;
  #parsedBytes = 0;
  #decodedBytes = 0;

  constructor({ mustBeQuick }: { readonly mustBeQuick: boolean }) {
    this.#mustBeQuick = mustBeQuick;
  }

  /** True as long as the work takes only some milliseconds. */
  get isQuick(): boolean {
    return this.#parsedBytes <= quick.parsedBytes && this.#decodedBytes <= quick.decodedBytes;
  }

  /**
   * Counts an object.
   * @throws {PdfFault} beyond 512 MiB in total
   * @throws {NotQuick}
   */
  parsed(bytes: number): void {
    this.#count(bytes + objectBytes);
  }

  /** Counts entries of the cross-reference that are looked at. Throws as `parsed` does. */
  entries(count: number): void {
    this.#count(count * entryBytes);
  }

  #count(bytes: number): void {
    this.#parsedBytes += bytes;
    if (this.#mustBeQuick && !this.isQuick) throw new NotQuick();
    if (this.#parsedBytes > usual.parsedBytes)
      throw new PdfFault(`the objects to be read have more than ${usual.parsedBytes} bytes in total`);
  }

  /** Bytes that a filter may make, where there is no lower limit. */
  get decodableBytes(): number {
    return (this.#mustBeQuick ? quick : usual).decodedBytes - this.#decodedBytes;
  }

  /**
   * Counts what a filter makes.
   * @throws {PdfFault} beyond 1 GiB in total
   * @throws {NotQuick}
   */
  decoded(bytes: number): void {
    this.#decodedBytes += bytes;
    if (this.#mustBeQuick && !this.isQuick) throw new NotQuick();
    if (this.#decodedBytes > usual.decodedBytes)
      throw new PdfFault(`the streams to be read have more than ${usual.decodedBytes} bytes in total without their filters`);
  }

  /** Notes work that takes long by its nature. @throws {NotQuick} */
  long(): void {
    this.#decodedBytes += quick.decodedBytes + 1;
    if (this.#mustBeQuick) throw new NotQuick();
  }
}
