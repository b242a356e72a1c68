import { RandomNonceCipher, type PartCipher } from '../sealed-parts/part-cipher.ts';
import { derivedSecret, type TokenMac } from '../sealed-parts/secrets.ts';
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

const formatVersion = 2;

/**
 * What stands for a request in the state store, and the key that its answer is encrypted with. All
 * of it follows from the request and from a MAC that only the token can make: a copy of the store
 * tells nothing of keys, bodies and answers, and no guess of a password in them can be tested with
 * it.
 */
export class RequestSecrets {
  /** Of client, operation and Idempotency-Key; hexadecimal. */
  readonly id: string;
  /** Whose request it is: as `RepeatableRequest.client`. */
  readonly client: string;
  /** Of the body, 32 bytes. */
  readonly fingerprint: Buffer;
  /** Of the answer. */
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
    // JSON keeps the parts apart.
    const secret = await tokenMac(Buffer.from(JSON.stringify(['kept answer', formatVersion, client, tenant, operation, idempotencyKey])));
    const ofBody = await canonicalMac(derivedSecret(secret, 'body'), body, threads);
    // The second half is stored nowhere: who has token and store still needs the request to read
    // its answer.
    const [fingerprint, rest] = [ofBody.subarray(0, 32), ofBody.subarray(32)];
    const id = derivedSecret(secret, 'id');
    const cipher = new RandomNonceCipher(formatVersion, derivedSecret(secret, 'answer', rest), id);
    return new RequestSecrets(client, id.toString('hex'), fingerprint, cipher);
  }
}
