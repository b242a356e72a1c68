import { derivedSecret, type PartCipher, PlaceNonceCipher, type TokenMac } from '../../sealed-parts/part-cipher.ts';

/** Sessions of another version are not found. */
const formatVersion = 2;

/**
 * What stands for a session in the state store, and the key that its parts are encrypted with. Both follow from the caller's signatureThreadId, its tenant
 * and a MAC that only the token can make: a copy of the store tells nothing, with the token beside it too, and another tenant asks for another session.
 */
export class SessionSecrets {
  /** Hexadecimal. */
  readonly id: string;
  readonly cipher: PartCipher;

  private constructor(id: string, cipher: PartCipher) {
    this.id = id;
    this.cipher = cipher;
  }

  static async of(tenant: string, signatureThreadId: string, mac: TokenMac): Promise<SessionSecrets> {
    // JSON keeps the parts apart.
    const secret = await mac(Buffer.from(JSON.stringify(['signature session', formatVersion, tenant, signatureThreadId])));
    const cipher = new PlaceNonceCipher(formatVersion, derivedSecret(secret, 'key'));
    return new SessionSecrets(derivedSecret(secret, 'id').toString('hex'), cipher);
  }
}
