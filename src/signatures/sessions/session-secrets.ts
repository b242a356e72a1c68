import { createHmac, webcrypto } from 'node:crypto';

/** The MAC of a message under a key that never leaves the token, 32 bytes. */
export type SessionMac = (message: Uint8Array) => Promise<Uint8Array>;

/** Where a part belongs: the item of the session, and its number in there. */
export interface PartPlace {
  readonly item: number;
  readonly part: number;
}

/** Sessions of another version are not found. */
const formatVersion = 2;
const headBytes = 2;

/**
 * What stands for a session in the state store, and the key that its parts are encrypted with. Both follow from the caller's signatureThreadId, its tenant
 * and a MAC that only the token can make: a copy of the store tells nothing, with the token beside it too, and another tenant asks for another session.
 */
export class SessionSecrets {
  /** Hexadecimal. */
  readonly id: string;
  readonly #key: Promise<webcrypto.CryptoKey>;

  private constructor(id: string, key: Promise<webcrypto.CryptoKey>) {
    this.id = id;
    this.#key = key;
  }

  static async of(tenant: string, signatureThreadId: string, mac: SessionMac): Promise<SessionSecrets> {
    // JSON keeps the parts apart.
    const secret = await mac(Buffer.from(JSON.stringify(['signature session', formatVersion, tenant, signatureThreadId])));
    const key = webcrypto.subtle.importKey('raw', derived(secret, 'key'), 'AES-GCM', false, ['encrypt', 'decrypt']);
    return new SessionSecrets(derived(secret, 'id').toString('hex'), key);
  }

  /**
   * Encrypts a part (AES-256-GCM): version, whether it is the last of its item (1 byte each), ciphertext with its tag. The nonce is the place: the key is
   * of this session alone, and nothing is ever stored twice at one place.
   */
  async seal(place: PartPlace, isLast: boolean, bytes: Uint8Array): Promise<Uint8Array> {
    const head = Buffer.of(formatVersion, isLast ? 1 : 0);
    const sealed = await webcrypto.subtle.encrypt(algorithm(place, head), await this.#key, new Uint8Array(bytes));
    return Buffer.concat([head, Buffer.from(sealed)]);
  }

  /** @throws {Error} where the bytes are not the part of this session that belongs there */
  async open(place: PartPlace, sealed: Uint8Array): Promise<{ readonly bytes: Uint8Array; readonly isLast: boolean }> {
    const head = Buffer.from(sealed.subarray(0, headBytes));
    if (head[0] !== formatVersion) throw new Error('a part of a session of an unknown version');
    const bytes = await webcrypto.subtle.decrypt(algorithm(place, head), await this.#key, new Uint8Array(sealed.subarray(headBytes)));
    return { bytes: new Uint8Array(bytes), isLast: head[1] === 1 };
  }
}

function algorithm({ item, part }: PartPlace, head: Buffer): webcrypto.AesGcmParams {
  const iv = new Uint8Array(12);
  const view = new DataView(iv.buffer);
  view.setUint32(0, item);
  view.setUint32(4, part);
  return { name: 'AES-GCM', iv, additionalData: new Uint8Array(head) };
}

/** One use of the secret each, told apart by its name. */
function derived(secret: Uint8Array, use: 'id' | 'key'): Buffer {
  return createHmac('sha256', secret).update(`${use};`).digest();
}
