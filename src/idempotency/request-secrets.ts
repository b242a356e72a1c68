import { createHmac, randomBytes, webcrypto } from 'node:crypto';
import type { WorkThreads } from '../threads/work-threads.ts';
import { canonicalMac } from './canonical-mac.ts';

/** What makes a request the same request: who, what, with which key, and its body. */
export interface RepeatableRequest {
  /** SHA-256 of the client's SubjectPublicKeyInfo, hexadecimal. */
  readonly client: string;
  readonly tenant: string;
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the body had as it came: about what its answer will have. */
  readonly bodyBytes: number;
}

/** The MAC of a message under a key that never leaves the token, 32 bytes. */
export type TokenMac = (message: Uint8Array) => Promise<Uint8Array>;

const nonceBytes = 12;
const formatVersion = 2;

/**
 * What stands for a request in the state store, and the key that its answer is encrypted with. All of it follows from the request and from a MAC that
 * only the token can make: a copy of the store tells nothing of keys, bodies and answers, and no guess of a password in them can be tested with it.
 */
export class RequestSecrets {
  /** Of client, operation and Idempotency-Key; hexadecimal. */
  readonly id: string;
  /** Whose request it is: as `RepeatableRequest.client`. */
  readonly client: string;
  /** Of the body, 32 bytes. */
  readonly fingerprint: Buffer;
  readonly #answerKey: Buffer;

  private constructor(client: string, id: string, fingerprint: Buffer, answerKey: Buffer) {
    this.client = client;
    this.id = id;
    this.fingerprint = fingerprint;
    this.#answerKey = answerKey;
  }

  static async of(
    { client, tenant, operation, idempotencyKey, body }: RepeatableRequest,
    tokenMac: TokenMac,
    threads: WorkThreads,
  ): Promise<RequestSecrets> {
    // JSON keeps the parts apart.
    const secret = await tokenMac(Buffer.from(JSON.stringify(['kept answer', formatVersion, client, tenant, operation, idempotencyKey])));
    const ofBody = await canonicalMac(derived(secret, 'body'), body, threads);
    // The second half is stored nowhere: who has token and store still needs the request to read its answer.
    const [fingerprint, rest] = [ofBody.subarray(0, 32), ofBody.subarray(32)];
    return new RequestSecrets(client, derived(secret, 'id').toString('hex'), fingerprint, derived(secret, 'answer', rest));
  }

  /** Encrypts a part of an answer (AES-256-GCM): version (1 byte), nonce (12 bytes), ciphertext with its tag. A part opens in its place alone. */
  async seal(plain: Uint8Array<ArrayBuffer>, part: number): Promise<Uint8Array> {
    const nonce = randomBytes(nonceBytes);
    const sealed = await webcrypto.subtle.encrypt(this.#algorithm(nonce, part), await this.#key(), plain);
    return Buffer.concat([Buffer.of(formatVersion), nonce, Buffer.from(sealed)]);
  }

  /** @throws {Error} where the bytes are not this part of an answer to this request */
  async open(sealed: Uint8Array, part: number): Promise<Uint8Array> {
    if (sealed[0] !== formatVersion) throw new Error('a kept answer of an unknown version');
    const nonce = sealed.slice(1, 1 + nonceBytes);
    return new Uint8Array(await webcrypto.subtle.decrypt(this.#algorithm(nonce, part), await this.#key(), sealed.slice(1 + nonceBytes)));
  }

  async #key(): Promise<webcrypto.CryptoKey> {
    return webcrypto.subtle.importKey('raw', this.#answerKey, 'AES-GCM', false, ['encrypt', 'decrypt']);
  }

  #algorithm(nonce: Uint8Array<ArrayBuffer>, part: number): webcrypto.AesGcmParams {
    const place = Buffer.alloc(4);
    place.writeUInt32BE(part);
    return { name: 'AES-GCM', iv: nonce, additionalData: Buffer.concat([Buffer.from(this.id, 'hex'), place]) };
  }
}

/** One use of the secret each, told apart by its name. */
function derived(secret: Uint8Array, use: 'id' | 'body' | 'answer', more: Uint8Array = Buffer.alloc(0)): Buffer {
  return createHmac('sha256', secret).update(`${use};`).update(more).digest();
}
