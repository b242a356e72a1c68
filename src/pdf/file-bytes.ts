import { bytesBetween, type ByteSource } from '../asn1/byte-source.ts';
import { ObjectParser, WindowTooShort, type ParserWindow } from './object-parser.ts';
import { PdfFault } from './pdf-fault.ts';
import type { WorkLimit } from './work-limit.ts';

/** Windows that are kept, since objects that belong together are often near each other. */
const windowsMax = 32;
const windowBytes = 64 * 1024;
/** Larger ones are not kept. */
const keptWindowMaxBytes = 256 * 1024;
const firstTryBytes = 4096;
/** Size of an object without the bytes of its stream. */
const objectMaxBytes = 32 * 1024 * 1024;

interface Window {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** The bytes of a file with random access, without the whole file in memory. */
export class FileBytes {
  readonly work: WorkLimit;
  readonly #source: ByteSource;
  readonly #windows: Window[] = [];

  constructor(source: ByteSource, work: WorkLimit) {
    this.#source = source;
    this.work = work;
  }

  get length(): number {
    return this.#source.bytes;
  }

  /**
   * Returns the bytes from an offset on: `count`, or as many as there are. They must not be
   * changed.
   */
  at(offset: number, count: number): Buffer {
    const window = this.#window(offset, count);
    return window.bytes.subarray(offset - window.offset, offset - window.offset + count);
  }

  /**
   * Parses what begins at an offset, with as large a window as that takes.
   * @throws {PdfFault} as `read` does, beyond 32 MiB, and beyond the limit of work
   */
  parse<T>(offset: number, read: (parser: ObjectParser) => T, decryptString?: ParserWindow['decryptString']): T {
    if (offset >= this.length) throw new PdfFault('the file ends before what should be there', offset);
    for (let count = firstTryBytes; ; count = Math.min(objectMaxBytes, count * 8)) {
      const bytes = this.at(offset, count);
      const parser = new ObjectParser({ bytes, offset, isLast: offset + bytes.length >= this.length, decryptString });
      try {
        return read(parser);
      } catch (error) {
        if (!(error instanceof WindowTooShort)) throw error;
        if (count === objectMaxBytes) throw new PdfFault(`an object has more than ${objectMaxBytes} bytes`, offset);
      } finally {
        this.work.parsed(parser.at);
      }
    }
  }

  /** Returns a window that has the bytes from an offset on. */
  #window(offset: number, count: number): Window {
    const end = Math.min(this.length, offset + count);
    const index = this.#windows.findIndex((one) => one.offset <= offset && one.offset + one.bytes.length >= end);
    const [known] = index < 0 ? [] : this.#windows.splice(index, 1);
    const window = known ?? { offset, bytes: this.#read(offset, Math.min(this.length, Math.max(end, offset + windowBytes))) };
    if (known !== undefined || end - offset <= keptWindowMaxBytes) this.#windows.push(window);
    if (this.#windows.length > windowsMax) this.#windows.shift();
    return window;
  }

  #read(offset: number, end: number): Buffer {
    if (offset >= end) return Buffer.alloc(0);
    const at = this.#source.windowAt(offset);
    if (at.length >= end - offset) return Buffer.from(at.buffer, at.byteOffset, at.length);
    return bytesBetween(this.#source, offset, end);
  }
}
