import { derivedSecret, type PartCipher, PlaceNonceCipher } from '../../sealed-parts/part-cipher.ts';
import type { SealingKey } from '../../sealed-parts/sealing-keys.ts';

/** Sessions of another version are not found. */
const formatVersion = 2;

/**
 * Identifier of a session in the state store, and the key that encrypts its parts. Both are derived
 * from signatureThreadId, the tenant and a MAC that only the token can compute: a copy of the store
 * reveals nothing, even together with the token, and another tenant derives another session.
 */
export class SessionSecrets {
  /** Hexadecimal. */
  readonly id: string;
  readonly cipher: PartCipher;
  /** The key from which both are derived. */
  readonly key: SealingKey;

  private constructor(key: SealingKey, id: string, cipher: PartCipher) {
    this.key = key;
    this.id = id;
    this.cipher = cipher;
  }

  static async of(tenant: string, signatureThreadId: string, key: SealingKey): Promise<SessionSecrets> {
    // JSON separates the parts unambiguously.
    const secret = await key.mac(Buffer.from(JSON.stringify(['signature session', formatVersion, tenant, signatureThreadId])));
    const cipher = new PlaceNonceCipher(formatVersion, derivedSecret(secret, 'key'));
    return new SessionSecrets(key, derivedSecret(secret, 'id').toString('hex'), cipher);
  }
}
