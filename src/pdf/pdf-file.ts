import { firstBytes, type ByteSource } from '../asn1/byte-source.ts';
import { CrossReference } from './cross-reference.ts';
import { flatDictionary } from './encryption/flat-dictionary.ts';
import { SecurityHandler } from './encryption/security-handler.ts';
import { FileBytes } from './file-bytes.ts';
import { decoded } from './filters.ts';
import { bodyOf, headOf } from './indirect-object.ts';
import { KeptByNumber } from './kept-by-number.ts';
import { ObjectParser } from './object-parser.ts';
import { objectStreamOf, type ObjectStream } from './object-stream.ts';
import { isArray, isName, PdfDictionary, PdfReference, PdfStream, type PdfArray, type PdfObject } from './objects.ts';
import { PdfFault } from './pdf-fault.ts';
import { streamBytes } from './stream-bytes.ts';
import { WorkLimit } from './work-limit.ts';

/** Of an object stream without its filters. */
const objectStreamMaxBytes = 64 * 1024 * 1024;
/** Size of the object streams that are kept without their filters, and of the objects. */
const keptStreamsMaxBytes = 32 * 1024 * 1024;
const keptObjectsMaxBytes = 16 * 1024 * 1024;
/** Roughly what one object takes that is kept, beside its values. */
const keptObjectBytes = 128;
/** Objects that need each other to be read, as an object stream needs its length. */
const nestedReadsMax = 16;
/** Of objects that there are not: some readers have no higher ones (ISO 32000-1, annex C). */
const danglingNumberMax = 8_388_607;
/** References that lead to references. */
const hopsMax = 32;
/** The header may have other bytes before it (ISO 32000-1, annex H.3, implementation note 13). */
const headerMaxOffset = 1024;

interface ReadObject {
  readonly object: PdfObject;
  /** Memory that it takes, roughly. */
  readonly weightBytes: number;
}

interface OpenOptions {
  readonly mustBeQuick?: boolean | undefined;
  readonly work?: WorkLimit | undefined;
}

/**
 * A PDF file, read where it is asked for something: only what the cross-reference names is part of
 * it, in its newest revision. Earlier ones are files over fewer bytes.
 */
export class PdfFile {
  readonly bytes: FileBytes;
  /** Offset of the header, from which offsets in the file count. */
  readonly base: number;
  /** Version of the header, such as `1.7`. */
  readonly headerVersion: string;
  readonly crossReference: CrossReference;
  /** Undefined for a file that is not encrypted. */
  readonly security: SecurityHandler | undefined;
  readonly #source: ByteSource;
  readonly #password: string | undefined;
  readonly #objects = new KeptByNumber<PdfObject>(keptObjectsMaxBytes);
  readonly #objectStreams = new KeptByNumber<ObjectStream>(keptStreamsMaxBytes);
  #referredEnd = 1;
  /** Objects that are being read, so that one which needs itself is found. */
  readonly #reading = new Set<number>();

  /**
   * Opens a file. Without a password, the empty one is tried for a file that is encrypted.
   * `mustBeQuick`: work that takes more than some milliseconds is not done. `work`: the limit of
   * this file and others together; absent: one of its own.
   * @throws {PdfFault} for a file that is not sound
   * @throws {PdfLocked} if it cannot be decrypted
   * @throws {NotQuick}, as all other methods do
   */
  constructor(source: ByteSource, password?: string, { mustBeQuick = false, work }: OpenOptions = {}) {
    this.#source = source;
    this.#password = password;
    this.bytes = new FileBytes(source, work ?? new WorkLimit({ mustBeQuick }));
    const { base, version } = headerOf(this.bytes);
    this.headerVersion = version;
    this.base = base;
    this.crossReference = CrossReference.read(this.bytes, base);
    this.#referredEnd = this.crossReference.size;
    this.security = this.#openSecurity(password);
    // What was read until here was not decrypted.
    this.#objects.clear();
    this.#objectStreams.clear();
    if (!(this.catalogReference instanceof PdfReference)) throw new PdfFault('the trailer names no catalog');
  }

  /**
   * Returns the file as it was when it ended at an offset. What it takes to read it counts for this
   * one.
   * @throws as the constructor does
   */
  asOf(end: number): PdfFile {
    return new PdfFile(firstBytes(this.#source, end), this.#password, { work: this.bytes.work });
  }

  get trailer(): PdfDictionary {
    return this.crossReference.trailer;
  }

  get catalogReference(): PdfReference {
    return this.trailer.get('Root') as PdfReference;
  }

  /** @throws {PdfFault} if there is none */
  get catalog(): PdfDictionary {
    return this.dictionary(this.catalogReference, 'the catalog');
  }

  /** Follows references. What does not exist is `null` (7.3.10). */
  resolved(object: PdfObject): PdfObject {
    let found = object;
    for (let hop = 0; found instanceof PdfReference; hop += 1) {
      if (hop === hopsMax) throw new PdfFault(`the reference ${found.toString()} leads to too many others`);
      found = this.object(found);
    }
    return found;
  }

  /** Returns an indirect object; `null` if it does not exist. */
  object(reference: PdfReference): PdfObject {
    const { number, generation } = reference;
    // The entry of object 0 begins the list of free ones (7.5.4).
    if (number === 0) return null;
    if (number >= this.#referredEnd) this.#referTo(reference);
    const known = this.#objects.get(number);
    if (known !== undefined) return this.#generationOf(number) === generation ? known : null;
    if (this.#generationOf(number) !== generation) return null;
    if (this.#reading.has(number)) throw new PdfFault(`object ${number} cannot be read without itself`);
    if (this.#reading.size === nestedReadsMax) throw new PdfFault(`object ${number} cannot be read without too many others`);
    this.#reading.add(number);
    try {
      const { object, weightBytes } = this.#read(reference);
      this.#objects.keep(number, object, weightBytes + keptObjectBytes);
      return object;
    } finally {
      this.#reading.delete(number);
    }
  }

  /**
   * One more than the highest number of an object that there is, or that was asked for. A new
   * object with a lower number would be what a reference leads to that has led to nothing until
   * then.
   */
  get referredEnd(): number {
    return this.#referredEnd;
  }

  #referTo(reference: PdfReference): void {
    if (reference.number > danglingNumberMax) throw new PdfFault(`the reference ${reference.toString()} leads to no object that can be`);
    this.#referredEnd = reference.number + 1;
  }

  /** Returns a value of a dictionary with its references followed. */
  get(dictionary: PdfDictionary, key: string): PdfObject {
    return this.resolved(dictionary.get(key));
  }

  /** @throws {PdfFault} if it is another object. `name`: of the object, for the message */
  dictionary(object: PdfObject, name: string): PdfDictionary {
    const found = this.resolved(object);
    if (found instanceof PdfDictionary) return found;
    throw new PdfFault(`${name} is no dictionary`);
  }

  /** @throws {PdfFault} if it is another object */
  array(object: PdfObject, name: string): PdfArray {
    const found = this.resolved(object);
    if (isArray(found)) return found;
    throw new PdfFault(`${name} is no array`);
  }

  /**
   * Returns the content of a stream without encryption and filters.
   * @throws {PdfFault} if it cannot be read, or becomes larger than `maxBytes`
   */
  content(stream: PdfStream, maxBytes: number): Uint8Array {
    const { dictionary, encoded } = stream;
    const resolved = (object: PdfObject): PdfObject => this.resolved(object);
    if (encoded instanceof Uint8Array) return decoded(encoded, dictionary, resolved, maxBytes, this.bytes.work);
    const bytes = this.encodedBytes(stream, maxBytes);
    const cipher = this.security?.stream(encoded.reference, this.#encryptionOf(dictionary));
    return decoded(cipher?.decrypt(bytes) ?? bytes, dictionary, resolved, maxBytes, this.bytes.work);
  }

  /**
   * Returns the bytes of a stream as they stand in the file, encrypted where it is.
   * @throws {PdfFault} if they do not end where their length says, or there are more than
   *   `maxBytes`
   */
  encodedBytes({ dictionary, encoded }: PdfStream, maxBytes: number): Uint8Array {
    if (encoded instanceof Uint8Array) return encoded;
    return streamBytes(this.bytes, { dictionary, encoded, length: this.get(dictionary, 'Length') }, maxBytes);
  }

  /** Returns the entry's generation, -1 for an object that does not exist. */
  #generationOf(number: number): number {
    const entry = this.crossReference.entry(number);
    return entry.kind === 'FILE' ? entry.generation : entry.kind === 'STREAM' ? 0 : -1;
  }

  #read(reference: PdfReference): ReadObject {
    const entry = this.crossReference.entry(reference.number);
    if (entry.kind === 'FREE') return { object: null, weightBytes: 0 };
    if (entry.kind === 'STREAM') return this.#inObjectStream(reference.number, entry);
    return this.#readAt(entry.offset, reference);
  }

  /**
   * Reads an indirect object (7.3.10), which must have the number that the cross-reference says.
   */
  #readAt(offset: number, reference: PdfReference): ReadObject {
    const { number, generation } = reference;
    const at = offset + this.base;
    const cipher = this.security?.strings(reference);
    const decrypt = cipher === undefined ? undefined : (raw: Uint8Array): Uint8Array => cipher.decrypt(raw);
    return this.bytes.parse(
      at,
      (parser) => {
        if (!headOf(parser, number, generation)) throw new PdfFault(`object ${number} is not where the cross-reference says`, at);
        return { object: bodyOf(parser, reference), weightBytes: parser.weightBytes };
      },
      decrypt,
    );
  }

  #inObjectStream(number: number, { stream, index }: { readonly stream: number; readonly index: number }): ReadObject {
    const { bytes, places } = this.#objectStream(stream);
    const place = places.get(number);
    // Some readers go by the number, some by the index, and some have no object then.
    if (place?.index !== index) throw new PdfFault(`object ${number} is not in the object stream ${stream}, where it should be`);
    const at = place.offset;
    const parser = new ObjectParser({ bytes, offset: 0, isLast: true }, at);
    const object = parser.object();
    this.bytes.work.parsed(parser.at - at);
    if (object instanceof PdfReference) throw new PdfFault(`object ${number} of an object stream is a reference`);
    return { object, weightBytes: parser.weightBytes };
  }

  #objectStream(number: number): ObjectStream {
    const known = this.#objectStreams.get(number);
    if (known !== undefined) return known;
    // An object stream in an object stream would be one without an end.
    const entry = this.crossReference.entry(number);
    const stream = entry.kind === 'FILE' ? this.object(new PdfReference(number, entry.generation)) : null;
    if (!(stream instanceof PdfStream) || !isName(this.get(stream.dictionary, 'Type'), 'ObjStm'))
      throw new PdfFault(`object ${number} is no object stream`);
    const made = objectStreamOf(this.content(stream, objectStreamMaxBytes), (key) => this.get(stream.dictionary, key));
    this.#objectStreams.keep(number, made, made.bytes.length + made.places.size * keptObjectBytes);
    return made;
  }

  /** Returns the entries of a stream's dictionary that say how it is encrypted. */
  #encryptionOf(dictionary: PdfDictionary): PdfDictionary {
    const entries = ['Type', 'Filter', 'DecodeParms'].map((key): [string, PdfObject] => [key, dictionary.get(key)]);
    return flatDictionary(new PdfDictionary(entries), (object) => this.resolved(object));
  }

  #openSecurity(password: string | undefined): SecurityHandler | undefined {
    const encrypt = this.resolved(this.trailer.get('Encrypt'));
    if (encrypt === null) return undefined;
    if (!(encrypt instanceof PdfDictionary)) throw new PdfFault('the encryption of the file is no dictionary');
    // Passwords are made slow to try.
    this.bytes.work.long();
    return SecurityHandler.open(
      flatDictionary(encrypt, (object) => this.resolved(object)),
      this.resolved(this.trailer.get('ID')),
      password,
    );
  }
}

function headerOf(bytes: FileBytes): { readonly base: number; readonly version: string } {
  const text = bytes.at(0, headerMaxOffset + 16).toString('latin1');
  const match = /%PDF-(\d\.\d)/.exec(text);
  if (match === null || match.index > headerMaxOffset) throw new PdfFault('the file is no PDF: its header is missing');
  return { base: match.index, version: match[1] ?? '' };
}
