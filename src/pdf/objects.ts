/**
 * The objects of a PDF (ISO 32000-2, 7.3). They do not change: a changed dictionary is a new one.
 * The null object is `null`; booleans and numbers are those of JavaScript.
 */
export type PdfObject = null | boolean | number | PdfName | PdfString | PdfReference | PdfDictionary | PdfStream | PdfArray | PdfHole;

export type PdfArray = readonly PdfObject[];

/** A name (7.3.5). */
export class PdfName {
  /** Without the slash; one UTF-16 unit for each byte, whatever encoding was meant. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A string (7.3.4): bytes. What they mean depends on its place. */
export class PdfString {
  /** As they stand in the file: encrypted, where it is. */
  readonly raw: Uint8Array;
  readonly #decrypt: ((raw: Uint8Array) => Uint8Array) | undefined;
  #bytes: Uint8Array | undefined;

  constructor(raw: Uint8Array, decrypt?: (raw: Uint8Array) => Uint8Array) {
    this.raw = raw;
    this.#decrypt = decrypt;
  }

  /** @throws {PdfFault} for a string that is not encrypted as the file says */
  get bytes(): Uint8Array {
    this.#bytes ??= this.#decrypt === undefined ? this.raw : this.#decrypt(this.raw);
    return this.#bytes;
  }
}

/** A reference to an indirect object (7.3.10). */
export class PdfReference {
  readonly number: number;
  readonly generation: number;

  constructor(number: number, generation: number) {
    this.number = number;
    this.generation = generation;
  }

  equals(other: PdfObject | undefined): boolean {
    return other instanceof PdfReference && other.number === this.number && other.generation === this.generation;
  }

  toString(): string {
    return `${this.number} ${this.generation} R`;
  }
}

const noKeys: ReadonlySet<string> = new Set();

/** A dictionary (7.3.7). */
export class PdfDictionary {
  readonly #entries: ReadonlyMap<string, PdfObject>;
  /**
   * Keys of integers that are written with a point, such as `2.0`: some readers do not take them
   * for integers.
   */
  readonly pointed: ReadonlySet<string>;

  constructor(entries: Iterable<readonly [string, PdfObject]> = [], pointed: ReadonlySet<string> = noKeys) {
    this.#entries = new Map(entries);
    this.pointed = pointed;
  }

  static of(entries: Readonly<Record<string, PdfObject | undefined>>): PdfDictionary {
    return new PdfDictionary(
      Object.entries(entries).flatMap(([key, value]) => (value === undefined || value === null ? [] : [[key, value] as const])),
    );
  }

  /** Returns the value as it stands there, `null` if there is none, which is the same (7.3.7). */
  get(key: string): PdfObject {
    return this.#entries.get(key) ?? null;
  }

  has(key: string): boolean {
    return this.get(key) !== null;
  }

  keys(): readonly string[] {
    return Array.from(this.#entries.keys());
  }

  entries(): readonly (readonly [string, PdfObject])[] {
    return Array.from(this.#entries);
  }

  values(): Iterable<PdfObject> {
    return this.#entries.values();
  }

  /** Returns the dictionary with other values for some keys; `null` or undefined removes a key. */
  with(changes: Readonly<Record<string, PdfObject | undefined>>): PdfDictionary {
    const entries = new Map(this.#entries);
    for (const [key, value] of Object.entries(changes)) {
      if (value === undefined || value === null) entries.delete(key);
      else entries.set(key, value);
    }
    return new PdfDictionary(entries, new Set(Array.from(this.pointed).filter((key) => !Object.hasOwn(changes, key))));
  }
}

/** A stream (7.3.8). */
export class PdfStream {
  readonly dictionary: PdfDictionary;
  /** Its bytes as they are in the file, or in memory for a new one. */
  readonly encoded: Uint8Array | StreamPlace;

  constructor(dictionary: PdfDictionary, encoded: Uint8Array | StreamPlace) {
    this.dictionary = dictionary;
    this.encoded = encoded;
  }
}

/** Where the bytes of a stream begin in the file; its dictionary says how many there are. */
export interface StreamPlace {
  readonly offset: number;
  /** The object that the stream is, which its encryption depends on. */
  readonly reference: PdfReference;
}

/**
 * Room for what is not known when an object is written, such as a signature value: the written
 * bytes are `filler` until something else is put there.
 */
export class PdfHole {
  readonly filler: string;

  constructor(filler: string) {
    this.filler = filler;
  }
}

export function isName(object: PdfObject, text: string): boolean {
  return object instanceof PdfName && object.text === text;
}

export function isInteger(object: PdfObject): object is number {
  return typeof object === 'number' && Number.isInteger(object);
}

/** Returns true for an array. `Array.isArray` does not narrow a readonly one. */
export function isArray(object: PdfObject): object is PdfArray {
  return Array.isArray(object);
}
