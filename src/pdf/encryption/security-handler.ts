import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { isArray, isInteger, isName, PdfDictionary, PdfName, PdfString, type PdfObject, type PdfReference } from '../objects.ts';
import { PdfFault, PdfLocked } from '../pdf-fault.ts';
import { fileKey, type StandardEntries } from './file-key.ts';
import { rc4 } from './rc4.ts';

/** How strings or streams are encrypted (ISO 32000-2, 7.6.6, table 25). */
type Method = 'NONE' | 'RC4' | 'AES_128' | 'AES_256';

/** Encrypts and decrypts what one indirect object has. */
export interface ObjectCipher {
  /** @throws {PdfFault} for bytes that are not encrypted so */
  decrypt(bytes: Uint8Array): Uint8Array;
  encrypt(bytes: Uint8Array): Uint8Array;
}

/** Bits of P (7.6.4.2, table 22), counted from 1 there. */
const permissionBits = { modify: 1 << 3, annotate: 1 << 5, fillForms: 1 << 8 } as const;
export type Permission = keyof typeof permissionBits;

/** The standard security handler (ISO 32000-2, 7.6), revisions 2 to 6, opened by a password. */
export class SecurityHandler {
  readonly #key: Uint8Array;
  readonly #isOwner: boolean;
  readonly #entries: StandardEntries;
  readonly #strings: Method;
  readonly #streams: Method;
  readonly #methods: ReadonlyMap<string, Method>;

  private constructor(key: Uint8Array, isOwner: boolean, entries: StandardEntries, methods: MethodsOfFile) {
    this.#key = key;
    this.#isOwner = isOwner;
    this.#entries = entries;
    this.#strings = methods.strings;
    this.#streams = methods.streams;
    this.#methods = methods.named;
  }

  /**
   * Opens a file. Without a password, the empty one is tried.
   * `encrypt`: the dictionary, with its references followed.
   * @throws {PdfLocked} for a password that does not open the file, and for other security handlers
   * @throws {PdfFault} for a dictionary that is malformed
   */
  static open(encrypt: PdfDictionary, id: PdfObject, password: string | undefined): SecurityHandler {
    const filter = encrypt.get('Filter');
    if (!(filter instanceof PdfName)) throw new PdfFault('the encryption of the file names no security handler');
    if (filter.text !== 'Standard')
      throw new PdfLocked(`the file is encrypted by the security handler ${filter.text}; only passwords are supported`);
    const entries = entriesOf(encrypt, id);
    const methods = methodsOf(encrypt);
    const found = fileKey(entries, password ?? '');
    if (found === undefined)
      throw new PdfLocked(password === undefined ? 'the file is encrypted and needs a password' : 'the password does not open the file');
    return new SecurityHandler(found.key, found.isOwner, entries, methods);
  }

  /**
   * Returns true if the password that was given allows something. The owner's allows everything.
   */
  allows(permission: Permission): boolean {
    const { revision, permissions } = this.#entries;
    if (this.#isOwner) return true;
    // Revision 2 has no bit of its own for filling in forms.
    const bit = revision === 2 && permission === 'fillForms' ? permissionBits.annotate : permissionBits[permission];
    return (permissions & bit) !== 0;
  }

  strings(reference: PdfReference): ObjectCipher | undefined {
    return this.#cipher(this.#strings, reference);
  }

  /** `dictionary`: of the stream, with its references followed. */
  stream(reference: PdfReference, dictionary: PdfDictionary): ObjectCipher | undefined {
    const type = dictionary.get('Type');
    if (isName(type, 'XRef') || (isName(type, 'Metadata') && !this.#entries.encryptsMetadata)) return undefined;
    return this.#cipher(this.#ownMethod(dictionary) ?? this.#streams, reference);
  }

  /** A stream can name how it is encrypted by a filter of its own (7.4.10). */
  #ownMethod(dictionary: PdfDictionary): Method | undefined {
    const [filter = null] = listOf(dictionary.get('Filter'));
    const [parameters = null] = listOf(dictionary.get('DecodeParms'));
    if (!isName(filter, 'Crypt')) return undefined;
    const name = parameters instanceof PdfDictionary ? parameters.get('Name') : null;
    return name instanceof PdfName ? (this.#methods.get(name.text) ?? 'NONE') : 'NONE';
  }

  #cipher(method: Method, reference: PdfReference): ObjectCipher | undefined {
    if (method === 'NONE') return undefined;
    const key = method === 'AES_256' ? this.#key : objectKey(this.#key, reference, method === 'AES_128');
    if (method === 'RC4') return { decrypt: (bytes) => rc4(key, bytes), encrypt: (bytes) => rc4(key, bytes) };
    const name = method === 'AES_256' ? 'aes-256-cbc' : 'aes-128-cbc';
    return {
      decrypt(bytes) {
        if (bytes.length === 0) return bytes;
        try {
          const cipher = createDecipheriv(name, key, bytes.subarray(0, 16));
          return Buffer.concat([cipher.update(bytes.subarray(16)), cipher.final()]);
        } catch (error) {
          throw new PdfFault(`the encrypted data of object ${reference.number} is damaged`, undefined, { cause: error });
        }
      },
      encrypt(bytes) {
        const vector = randomBytes(16);
        const cipher = createCipheriv(name, key, vector);
        return Buffer.concat([vector, cipher.update(bytes), cipher.final()]);
      },
    };
  }
}

/** Keys of objects depend on three bytes of their numbers. */
const keyedNumberMax = 0xffffff;

/** Algorithm 1. */
function objectKey(key: Uint8Array, { number, generation }: PdfReference, isAes: boolean): Uint8Array {
  const place = Buffer.alloc(5);
  if (number > keyedNumberMax) throw new PdfFault(`object ${number} has a number that this encryption does not know`);
  place.writeUIntLE(number, 0, 3);
  place.writeUIntLE(generation, 3, 2);
  const hash = createHash('md5').update(key).update(place);
  if (isAes) hash.update('sAlT');
  return hash.digest().subarray(0, Math.min(16, key.length + 5));
}

interface MethodsOfFile {
  readonly strings: Method;
  readonly streams: Method;
  readonly named: ReadonlyMap<string, Method>;
}

/** Revisions of the handler by V, which names the algorithm (7.6.2, table 20). */
const revisionsOf: Readonly<Record<number, readonly number[]>> = { 1: [2, 3], 2: [2, 3], 4: [4], 5: [5, 6] };

function methodsOf(encrypt: PdfDictionary): MethodsOfFile {
  const version = encrypt.get('V');
  if (version === 1 || version === 2) return { strings: 'RC4', streams: 'RC4', named: new Map() };
  const filters = encrypt.get('CF');
  const named = new Map<string, Method>([['Identity', 'NONE']]);
  if (filters instanceof PdfDictionary)
    for (const [name, filter] of filters.entries()) if (name !== 'Identity') named.set(name, methodOf(filter, version === 5));
  const used = (key: string): Method => {
    const name = encrypt.get(key);
    const method = name === null ? 'NONE' : name instanceof PdfName ? named.get(name.text) : undefined;
    if (method === undefined) throw new PdfFault(`${key} of the encryption names no crypt filter`);
    return method;
  };
  return { strings: used('StrF'), streams: used('StmF'), named };
}

function methodOf(filter: PdfObject, isVersion5: boolean): Method {
  const named = filter instanceof PdfDictionary ? filter.get('CFM') : null;
  const name = named instanceof PdfName ? named.text : 'None';
  const known: Readonly<Record<string, Method>> = isVersion5
    ? { None: 'NONE', AESV3: 'AES_256' }
    : { None: 'NONE', V2: 'RC4', AESV2: 'AES_128' };
  const method = Object.hasOwn(known, name) ? known[name] : undefined;
  if (method === undefined) throw new PdfLocked('the file is encrypted by an algorithm that is not supported');
  return method;
}

function entriesOf(encrypt: PdfDictionary, id: PdfObject): StandardEntries {
  const revision = encrypt.get('R');
  const permissions = encrypt.get('P');
  const version = encrypt.get('V');
  if (!isInteger(revision) || !isInteger(version) || revisionsOf[version]?.includes(revision) !== true)
    throw new PdfLocked('the file is encrypted by an algorithm that is not supported');
  if (!isInteger(permissions)) throw new PdfFault('the encryption of the file has no permissions');
  const least = revision >= 5 ? 48 : 32;
  const [firstId = null] = isArray(id) ? id : [];
  return {
    revision,
    keyBytes: keyBytesOf(encrypt, revision),
    owner: bytesOf(encrypt, 'O', least),
    user: bytesOf(encrypt, 'U', least),
    ownerEncrypted: revision >= 5 ? bytesOf(encrypt, 'OE', 32) : new Uint8Array(),
    userEncrypted: revision >= 5 ? bytesOf(encrypt, 'UE', 32) : new Uint8Array(),
    // Some producers write the bits as a number without a sign.
    permissions: permissions | 0,
    encryptsMetadata: encrypt.get('EncryptMetadata') !== false,
    firstId: firstId instanceof PdfString ? firstId.raw : new Uint8Array(),
  };
}

/** Length is in bits, and 40 by default; with crypt filters the algorithm decides. */
function keyBytesOf(encrypt: PdfDictionary, revision: number): number {
  const version = encrypt.get('V');
  if (revision === 2 || version === 1) return 5;
  if (version === 4) return 16;
  if (version === 5) return 32;
  const length = encrypt.get('Length');
  const bits = length === null ? 40 : length;
  if (!isInteger(bits) || bits % 8 !== 0 || bits < 40 || bits > 128)
    throw new PdfFault('the encryption of the file has a key of a length that does not occur');
  return bits / 8;
}

function bytesOf(encrypt: PdfDictionary, key: string, least: number): Uint8Array {
  const value = encrypt.get(key);
  if (!(value instanceof PdfString) || value.raw.length < least) throw new PdfFault(`${key} of the encryption is too short`);
  return value.raw;
}

function listOf(object: PdfObject): readonly PdfObject[] {
  return object === null ? [] : isArray(object) ? object : [object];
}
