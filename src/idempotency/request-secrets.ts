import { derivedSecret, type PartCipher, RandomNonceCipher, type TokenMac } from '../sealed-parts/part-cipher.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { canonicalMac } from './canonical-mac.ts';

/** Identity of a request: client, operation, Idempotency-Key, and body. */
export interface RepeatableRequest {
  /** SHA-256 of the client's SubjectPublicKeyInfo, hexadecimal. */
  readonly client: string;
  readonly tenant: string;
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Size of the body as received: an estimate for the size of its answer. */
  readonly bodyBytes: number;
}

const formatVersion = 2;

/**
 * Identifier of a request in the state store, and the key that encrypts its answer. Both are
 * derived from the request and a MAC that only the token can make: a copy of the store reveals
 * nothing of keys, bodies and answers, and cannot be used to test guesses of passwords in them.
 */
export class RequestSecrets {
  /** MAC of client, operation and Idempotency-Key; hexadecimal. */
  readonly id: string;
  /** The client, as `RepeatableRequest.client`. */
  readonly client: string;
  /** MAC of the body, 32 bytes. */
  readonly fingerprint: Buffer;
  /** Cipher of the answer. */
  readonly cipher: PartCipher;

  private constructor(client: string, id: string, fingerprint: Buffer, cipher: PartCipher) {
    this.client = client;
    this.id = id;
    this.fingerprint = fingerprint;
    this.cipher = cipher;
  }

  static async of(
    { client, tenant, operation, idempotencyKey, body }: RepeatableRequest,
    tokenMac: TokenMac,
    threads: WorkThreads,
  ): Promise<RequestSecrets> {
    // JSON separates the parts unambiguously.
    const secret = await tokenMac(Buffer.from(JSON.stringify(['kept answer', formatVersion, client, tenant, operation, idempotencyKey])));
    const ofBody = await canonicalMac(derivedSecret(secret, 'body'), body, threads);
    // The second half is never stored: even with token and store, the request is needed to read its
    // answer.
    const [fingerprint, rest] = [ofBody.subarray(0, 32), ofBody.subarray(32)];
    const id = derivedSecret(secret, 'id');
    const cipher = new RandomNonceCipher(formatVersion, derivedSecret(secret, 'answer', rest), id);
    return new RequestSecrets(client, id.toString('hex'), fingerprint, cipher);
  }
}
