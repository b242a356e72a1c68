import { derivedSecret, type PartCipher, RandomNonceCipher } from '../sealed-parts/part-cipher.ts';
import { type KeysInUse, sealedId, type SealingKey } from '../sealed-parts/sealing-keys.ts';
import { KeyGone } from '../token/token.ts';
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
  /** The key from which all of this is derived. */
  readonly key: SealingKey;

  private constructor(key: SealingKey, client: string, id: string, fingerprint: Buffer, cipher: PartCipher) {
    this.key = key;
    this.client = client;
    this.id = id;
    this.fingerprint = fingerprint;
    this.cipher = cipher;
  }

  static async of(request: RepeatableRequest, key: SealingKey, threads: WorkThreads): Promise<RequestSecrets> {
    const secret = await key.mac(nameOf(request));
    const ofBody = await canonicalMac(derivedSecret(secret, 'body'), request.body, threads);
    // The second half is never stored: even with token and store, the request is needed to read its
    // answer.
    const [fingerprint, rest] = [ofBody.subarray(0, 32), ofBody.subarray(32)];
    const id = derivedSecret(secret, 'id');
    const cipher = new RandomNonceCipher(formatVersion, derivedSecret(secret, 'answer', rest), id);
    return new RequestSecrets(key, request.client, id.toString('hex'), fingerprint, cipher);
  }
}

/**
 * Returns the text that identifies a request, whatever its body. JSON separates the parts
 * unambiguously.
 */
export function nameOf({ client, tenant, operation, idempotencyKey }: RepeatableRequest): Buffer {
  return Buffer.from(JSON.stringify(['kept answer', formatVersion, client, tenant, operation, idempotencyKey]));
}

/** Returns the former keys by the identifiers that the request has under them. */
export async function formerIds(request: RepeatableRequest, { former }: KeysInUse): Promise<Map<string, SealingKey>> {
  const ids = new Map<string, SealingKey>();
  for (const key of former) {
    try {
      ids.set(await sealedId(nameOf(request), key), key);
    } catch (error) {
      // Nothing is left that it sealed, or the token lost it.
      if (!(error instanceof KeyGone)) throw error;
    }
  }
  return ids;
}
