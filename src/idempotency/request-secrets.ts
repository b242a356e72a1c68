import { createHmac, randomBytes, webcrypto } from 'node:crypto';
import { canonicalMac } from './canonical-mac.ts';

/** What makes a request the same request: who, what, with which key, and its body. */
export interface RepeatableRequest {
  /** SHA-256 of the client's SubjectPublicKeyInfo, hexadecimal. */
  readonly client: string;
  readonly tenant: string;
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The MAC of a message under a key that never leaves the token, 32 bytes. */
export type TokenMac = (message: Uint8Array) => Promise<Uint8Array>;

const nonceBytes = 12;
const formatVersion = 1;

/**
 * What stands for a request in the state store, and the key that its answer is encrypted with. All of it follows from the request and from a MAC that
 * only the token can make: a copy of the store tells nothing of keys, bodies and answers, and no guess of a password in them can be tested with it.
 */
export class RequestSecrets {
  /** Of client, operation and Idempotency-Key; hexadecimal. */
  readonly id: string;
  /** Of the body, 32 bytes. */
  readonly fingerprint: Buffer;
  readonly #answerKey: Buffer;

  private constructor(id: string, fingerprint: Buffer, answerKey: Buffer) {
    this.id = id;
    this.fingerprint = fingerprint;
    this.#answerKey = answerKey;
  }

  static async of({ client, tenant, operation, idempotencyKey, body }: RepeatableRequest, tokenMac: TokenMac): Promise<RequestSecrets> {
    // JSON keeps the parts apart.
    const secret = await tokenMac(Buffer.from(JSON.stringify(['kept answer', formatVersion, client, tenant, operation, idempotencyKey])));
    const ofBody = await canonicalMac(derived(secret, 'body'), body);
    // The second half is stored nowhere: who has token and store still needs the request to read its answer.
    const [fingerprint, rest] = [ofBody.subarray(0, 32), ofBody.subarray(32)];
    return new RequestSecrets(derived(secret, 'id').toString('hex'), fingerprint, derived(secret, 'answer', rest));
  }

  /** Encrypts an answer (AES-256-GCM): version (1 byte), nonce (12 bytes), ciphertext with its tag. */
  async seal(answer: string): Promise<Uint8Array> {
    const nonce = randomBytes(nonceBytes);
    const sealed = await webcrypto.subtle.encrypt(this.#algorithm(nonce), await this.#key('encrypt'), Buffer.from(answer, 'utf8'));
    return Buffer.concat([Buffer.of(formatVersion), nonce, Buffer.from(sealed)]);
  }

  /** @throws {Error} where the bytes are no answer to this request */
  async open(sealed: Uint8Array): Promise<string> {
    if (sealed[0] !== formatVersion) throw new Error('a kept answer of an unknown version');
    const nonce = sealed.slice(1, 1 + nonceBytes);
    const answer = await webcrypto.subtle.decrypt(this.#algorithm(nonce), await this.#key('decrypt'), sealed.slice(1 + nonceBytes));
    return Buffer.from(answer).toString('utf8');
  }

  async #key(usage: 'encrypt' | 'decrypt'): Promise<webcrypto.CryptoKey> {
    return webcrypto.subtle.importKey('raw', this.#answerKey, 'AES-GCM', false, [usage]);
  }

  #algorithm(nonce: Uint8Array<ArrayBuffer>): webcrypto.AesGcmParams {
    return { name: 'AES-GCM', iv: nonce, additionalData: Buffer.from(this.id, 'hex') };
  }
}

/** One use of the secret each, told apart by its name. */
function derived(secret: Uint8Array, use: 'id' | 'body' | 'answer', more: Uint8Array = Buffer.alloc(0)): Buffer {
  return createHmac('sha256', secret).update(`${use};`).update(more).digest();
}
