import { createHmac, randomBytes, webcrypto } from 'node:crypto';

/**
 * Returns the MAC of a message under a key that never leaves the token, 32 bytes. Identifiers and
 * keys of sealed parts are derived from it.
 */
export type TokenMac = (message: Uint8Array) => Promise<Uint8Array>;

/**
 * Derives a secret for one use (HMAC-SHA256, 32 bytes). Uses are distinguished by name; `more`:
 * further input.
 */
export function derivedSecret(secret: Uint8Array, use: string, more: Uint8Array = new Uint8Array()): Buffer<ArrayBuffer> {
  return Buffer.from(createHmac('sha256', secret).update(`${use};`).update(more).digest());
}

/** Place of a part: the item of its owner, and its number within the item, both from 0. */
export interface PartPlace {
  readonly item: number;
  readonly part: number;
}

export interface OpenedPart {
  readonly bytes: Uint8Array;
  /** Whether it is the last part of its item; undefined if the format does not say. */
  readonly isLast: boolean | undefined;
}

/** Encrypts parts (AES-256-GCM), each of which can only be decrypted in its place. */
export interface PartCipher {
  seal(place: PartPlace, isLast: boolean, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
  /**
   * Decrypts a part.
   * @throws {Error} if the bytes are not the part that belongs at this place of this owner
   */
  open(place: PartPlace, sealed: Uint8Array): Promise<OpenedPart>;
}

const nonceBytes = 12;

/**
 * Cipher for an owner whose single item may be stored more than once under one key. A part consists
 * of its format version (1 byte), a random nonce (12 bytes), and the ciphertext with its tag; the
 * owner's identifier and the number of the part are authenticated with it.
 */
export class RandomNonceCipher implements PartCipher {
  readonly #version: number;
  readonly #key: CipherKey;
  readonly #owner: Uint8Array;

  constructor(version: number, key: Uint8Array<ArrayBuffer>, owner: Uint8Array) {
    this.#version = version;
    this.#key = new CipherKey(key);
    this.#owner = owner;
  }

  async seal(place: PartPlace, _isLast: boolean, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const nonce = new Uint8Array(randomBytes(nonceBytes));
    return Buffer.concat([Buffer.of(this.#version), nonce, await this.#key.encrypt(nonce, this.#place(place), bytes)]);
  }

  async open(place: PartPlace, sealed: Uint8Array): Promise<OpenedPart> {
    checkVersion(sealed, this.#version);
    const nonce = sealed.slice(1, 1 + nonceBytes);
    const bytes = await this.#key.decrypt(nonce, this.#place(place), sealed.subarray(1 + nonceBytes));
    return { bytes, isLast: undefined };
  }

  #place({ item, part }: PartPlace): Uint8Array<ArrayBuffer> {
    if (item !== 0) throw new RangeError('an owner of this kind has a single item');
    const place = new Uint8Array(this.#owner.length + 4);
    place.set(this.#owner);
    new DataView(place.buffer).setUint32(this.#owner.length, part);
    return place;
  }
}

const headBytes = 2;

/**
 * Cipher for an owner that has its own key and stores nothing twice at one place: the nonce is the
 * place. A part consists of its format version, a flag for the last part of its item (1 byte each),
 * and the ciphertext with its tag.
 */
export class PlaceNonceCipher implements PartCipher {
  readonly #version: number;
  readonly #key: CipherKey;

  constructor(version: number, key: Uint8Array<ArrayBuffer>) {
    this.#version = version;
    this.#key = new CipherKey(key);
  }

  async seal(place: PartPlace, isLast: boolean, bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    const head = Uint8Array.of(this.#version, isLast ? 1 : 0);
    return Buffer.concat([head, await this.#key.encrypt(nonceOf(place), head, bytes)]);
  }

  async open(place: PartPlace, sealed: Uint8Array): Promise<OpenedPart> {
    checkVersion(sealed, this.#version);
    const head = sealed.slice(0, headBytes);
    const bytes = await this.#key.decrypt(nonceOf(place), head, sealed.subarray(headBytes));
    return { bytes, isLast: head[1] === 1 };
  }
}

function nonceOf({ item, part }: PartPlace): Uint8Array<ArrayBuffer> {
  const nonce = new Uint8Array(nonceBytes);
  const view = new DataView(nonce.buffer);
  view.setUint32(0, item);
  view.setUint32(4, part);
  return nonce;
}

function checkVersion(sealed: Uint8Array, version: number): void {
  if (sealed[0] !== version) throw new Error('the sealed part has an unknown version');
}

/** An AES-256-GCM key, imported on first use. */
class CipherKey {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #imported: Promise<webcrypto.CryptoKey> | undefined;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  async encrypt(iv: Uint8Array<ArrayBuffer>, additionalData: Uint8Array<ArrayBuffer>, plain: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    return new Uint8Array(await webcrypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, await this.#key(), plain));
  }

  async decrypt(iv: Uint8Array<ArrayBuffer>, additionalData: Uint8Array<ArrayBuffer>, sealed: Uint8Array): Promise<Uint8Array> {
    return new Uint8Array(
      await webcrypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData }, await this.#key(), new Uint8Array(sealed)),
    );
  }

  async #key(): Promise<webcrypto.CryptoKey> {
    this.#imported ??= webcrypto.subtle.importKey('raw', this.#bytes, 'AES-GCM', false, ['encrypt', 'decrypt']);
    return this.#imported;
  }
}
