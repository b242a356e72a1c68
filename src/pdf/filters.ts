import { inflateSync } from 'node:zlib';
import { hexDigit, isSpace } from './characters.ts';
import { isArray, isInteger, PdfDictionary, PdfName, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';
import type { WorkLimit } from './work-limit.ts';
import { errorCode } from '../telemetry/error-code.ts';

const filtersMax = 8;

interface Filter {
  readonly name: string;
  readonly parameters: PdfDictionary;
}

/**
 * Returns the bytes of a stream without its filters (ISO 32000-2, 7.4), which may become `maxBytes`
 * at most. `resolved` follows references. `work` counts the bytes.
 * @throws {PdfFault} for data that a filter cannot read, and for filters of pictures
 */
export function decoded(
  encoded: Uint8Array,
  dictionary: PdfDictionary,
  resolved: (object: PdfObject) => PdfObject,
  maxBytes: number,
  work: WorkLimit,
): Uint8Array {
  let bytes = encoded;
  for (const { name, parameters } of filtersOf(dictionary, resolved)) {
    const decode = decoders.get(name);
    if (decode === undefined) throw new PdfFault(`a stream has the filter ${name}, which cannot be read here`);
    bytes = limited(decode, bytes, parameters, maxBytes, work);
    if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  }
  return bytes;
}

function limited(decode: Decoder, bytes: Uint8Array, parameters: PdfDictionary, maxBytes: number, work: WorkLimit): Uint8Array {
  const allowed = Math.max(0, Math.min(maxBytes, work.decodableBytes));
  try {
    const made = decode(bytes, parameters, allowed);
    work.decoded(made.length);
    return made;
  } catch (error) {
    if (allowed < maxBytes) work.decoded(allowed + 1);
    throw error;
  }
}

function filtersOf(dictionary: PdfDictionary, resolved: (object: PdfObject) => PdfObject): readonly Filter[] {
  const names = listOf(resolved(dictionary.get('Filter')));
  const parameters = listOf(resolved(dictionary.get('DecodeParms')));
  if (names.length > filtersMax) throw new PdfFault(`a stream has more than ${filtersMax} filters`);
  return names.map((one, index) => {
    const name = resolved(one);
    if (!(name instanceof PdfName)) throw new PdfFault('the filter of a stream is no name');
    const given = resolved(parameters[index] ?? null);
    if (given !== null && !(given instanceof PdfDictionary)) throw new PdfFault('the parameters of a filter are no dictionary');
    const own = given ?? new PdfDictionary();
    return { name: name.text, parameters: new PdfDictionary(own.entries().map(([key, value]) => [key, resolved(value)])) };
  });
}

function listOf(object: PdfObject): readonly PdfObject[] {
  return object === null ? [] : isArray(object) ? object : [object];
}

type Decoder = (bytes: Uint8Array, parameters: PdfDictionary, maxBytes: number) => Uint8Array;

const decoders: ReadonlyMap<string, Decoder> = new Map(
  Object.entries<Decoder>({
    FlateDecode: (bytes, parameters, maxBytes) => unpredicted(inflated(bytes, maxBytes), parameters),
    Fl: (bytes, parameters, maxBytes) => unpredicted(inflated(bytes, maxBytes), parameters),
    LZWDecode: (bytes, parameters, maxBytes) => unpredicted(lzwDecoded(bytes, parameters, maxBytes), parameters),
    LZW: (bytes, parameters, maxBytes) => unpredicted(lzwDecoded(bytes, parameters, maxBytes), parameters),
    ASCIIHexDecode: hexDecoded,
    AHx: hexDecoded,
    ASCII85Decode: (bytes, _parameters, maxBytes) => base85Decoded(bytes, maxBytes),
    A85: (bytes, _parameters, maxBytes) => base85Decoded(bytes, maxBytes),
    RunLengthDecode: (bytes, _parameters, maxBytes) => runsDecoded(bytes, maxBytes),
    RL: (bytes, _parameters, maxBytes) => runsDecoded(bytes, maxBytes),
    // It names how the stream is encrypted, which has been undone by now.
    Crypt: (bytes) => bytes,
  }),
);

function tooLarge(maxBytes: number): PdfFault {
  return new PdfFault(`a stream has more than ${maxBytes} bytes without its filters`);
}

function inflated(bytes: Uint8Array, maxBytes: number): Uint8Array {
  try {
    return inflateSync(bytes, { maxOutputLength: Math.max(1, maxBytes) });
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw new PdfFault('the compressed data of a stream is damaged');
  }
}

/** Bytes that a decoder writes. */
class Output {
  #bytes: Buffer;
  #length = 0;
  readonly #maxBytes: number;

  constructor(firstBytes: number, maxBytes: number) {
    this.#bytes = Buffer.allocUnsafe(Math.max(64, Math.min(firstBytes, maxBytes)));
    this.#maxBytes = maxBytes;
  }

  push(byte: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length] = byte;
    this.#length += 1;
  }

  append(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length) this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #grow(by: number): void {
    if (this.#length + by > this.#maxBytes) throw tooLarge(this.#maxBytes);
    const grown = Buffer.allocUnsafe(Math.max(this.#length + by, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }

  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

function hexDecoded(bytes: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe((bytes.length >> 1) + 1);
  let digits = 0;
  for (const byte of bytes) {
    if (byte === 0x3e) break;
    const digit = hexDigit(byte);
    if (digit >= 0) {
      value[digits >> 1] = (digits & 1) === 0 ? digit << 4 : (value[digits >> 1] ?? 0) | digit;
      digits += 1;
    } else if (!isSpace(byte)) {
      throw new PdfFault('a stream in hexadecimal digits has another character');
    }
  }
  return value.subarray(0, (digits + 1) >> 1);
}

function base85Decoded(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const output = new Output(bytes.length, maxBytes);
  let group = 0;
  let digits = 0;
  const write = (count: number): void => {
    if (group > 0xffff_ffff) throw new PdfFault('a stream in base 85 has a group that is too large');
    for (let index = 0; index < count; index += 1) output.push(Math.floor(group / 256 ** (3 - index)) & 0xff);
    group = 0;
    digits = 0;
  };
  for (const byte of bytes) {
    if (byte === 0x7e) break;
    if (isSpace(byte)) continue;
    if (byte === 0x7a && digits === 0) {
      output.append(new Uint8Array(4));
      continue;
    }
    if (byte < 0x21 || byte > 0x75) throw new PdfFault('a stream in base 85 has another character');
    group = group * 85 + byte - 0x21;
    digits += 1;
    if (digits === 5) write(4);
  }
  if (digits === 1) throw new PdfFault('a stream in base 85 ends within a group');
  if (digits > 1) {
    const count = digits - 1;
    for (; digits < 5; digits += 1) group = group * 85 + 84;
    write(count);
  }
  return output.written;
}

function runsDecoded(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const output = new Output(bytes.length * 2, maxBytes);
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at] ?? 128;
    if (length === 128) break;
    if (length < 128) {
      output.append(bytes.subarray(at + 1, at + 2 + length));
      at += 2 + length;
    } else {
      output.append(new Uint8Array(257 - length).fill(bytes[at + 1] ?? 0));
      at += 2;
    }
  }
  return output.written;
}

/** LZW with codes of 9 to 12 bits (ISO 32000-2, 7.4.4). */
function lzwDecoded(bytes: Uint8Array, parameters: PdfDictionary, maxBytes: number): Uint8Array {
  const early = parameters.get('EarlyChange') === 0 ? 0 : 1;
  const output = new Output(bytes.length * 3, maxBytes);
  const table: Uint8Array[] = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  let next = 258;
  let width = 9;
  let previous: Uint8Array | undefined;
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xff_ffff;
    bits += 8;
    if (bits < width) continue;
    bits -= width;
    const code = (held >> bits) & ((1 << width) - 1);
    if (code === 257) break;
    if (code === 256) {
      table.length = 258;
      next = 258;
      width = 9;
      previous = undefined;
      continue;
    }
    const entry: Uint8Array | undefined = code < next ? table[code] : previous && extended(previous, previous[0] ?? 0);
    if (entry === undefined || code > next) throw new PdfFault('the compressed data of a stream is damaged');
    output.append(entry);
    if (previous !== undefined && next < 4096) {
      table[next] = extended(previous, entry[0] ?? 0);
      next += 1;
    }
    previous = entry;
    if (next + early >= 1 << width && width < 12) width += 1;
  }
  return output.written;
}

function extended(bytes: Uint8Array, last: number): Uint8Array {
  const longer = new Uint8Array(bytes.length + 1);
  longer.set(bytes);
  longer[bytes.length] = last;
  return longer;
}

/**
 * Undoes a predictor (ISO 32000-2, 7.4.4.4): those of PNG, and that of TIFF for components of 8
 * bits.
 */
function unpredicted(bytes: Uint8Array, parameters: PdfDictionary): Uint8Array {
  const predictor = integerOf(parameters, 'Predictor', 1);
  if (predictor === 1) return bytes;
  const colors = integerOf(parameters, 'Colors', 1);
  const bits = integerOf(parameters, 'BitsPerComponent', 8);
  const columns = integerOf(parameters, 'Columns', 1);
  const isSound = colors >= 1 && colors <= 32 && [1, 2, 4, 8, 16].includes(bits) && columns >= 1 && columns <= 1_000_000;
  if (!isSound) throw new PdfFault('the parameters of a predictor are out of range');
  const pixelBytes = Math.max(1, (colors * bits) >> 3);
  const rowBytes = Math.ceil((colors * bits * columns) / 8);
  if (predictor >= 10) return withoutPng(bytes, rowBytes, pixelBytes);
  if (predictor !== 2 || bits !== 8) throw new PdfFault('a stream has a predictor that cannot be read here');
  const row = Uint8Array.from(bytes);
  for (let at = 0; at < row.length; at += 1) if (at % rowBytes >= colors) row[at] = ((row[at] ?? 0) + (row[at - colors] ?? 0)) & 0xff;
  return row;
}

function integerOf(parameters: PdfDictionary, key: string, usual: number): number {
  const value = parameters.get(key);
  return isInteger(value) ? value : usual;
}

function withoutPng(bytes: Uint8Array, rowBytes: number, pixelBytes: number): Uint8Array {
  const rows = Math.ceil(bytes.length / (rowBytes + 1));
  // The last row may be short, and a row may have more bytes than there are.
  const output = Buffer.alloc(bytes.length);
  let written = 0;
  for (let row = 0; row < rows; row += 1) {
    const from = row * (rowBytes + 1);
    const kind = bytes[from] ?? 0;
    const count = Math.min(rowBytes, bytes.length - from - 1);
    const to = row * rowBytes;
    if (kind > 4) throw new PdfFault('a stream has a predictor that PNG does not know');
    for (let index = 0; index < count; index += 1) {
      const left = index >= pixelBytes ? (output[to + index - pixelBytes] ?? 0) : 0;
      const above = row > 0 ? (output[to + index - rowBytes] ?? 0) : 0;
      const corner = row > 0 && index >= pixelBytes ? (output[to + index - rowBytes - pixelBytes] ?? 0) : 0;
      const guess = kind === 1 ? left : kind === 2 ? above : kind === 3 ? (left + above) >> 1 : kind === 4 ? paeth(left, above, corner) : 0;
      output[to + index] = (bytes[from + 1 + index] ?? 0) + guess;
    }
    written += count;
  }
  return output.subarray(0, written);
}

/** PNG, 9.4. */
function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [Math.abs(guess - left), Math.abs(guess - above), Math.abs(guess - corner)];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
