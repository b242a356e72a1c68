import type { webcrypto } from 'node:crypto';
import { refusal } from './refusal.ts';

/**
 * The methods that a signing provider does not support. Each rejects every algorithm as not
 * registered (§18.4.4).
 */
export abstract class SigningOnly {
  async encrypt(): Promise<ArrayBuffer> {
    return unsupported('encrypt');
  }

  async decrypt(): Promise<ArrayBuffer> {
    return unsupported('decrypt');
  }

  async deriveBits(): Promise<ArrayBuffer> {
    return unsupported('deriveBits');
  }

  async deriveKey(): Promise<webcrypto.CryptoKey> {
    return unsupported('deriveKey');
  }

  async wrapKey(): Promise<ArrayBuffer> {
    return unsupported('wrapKey');
  }

  async unwrapKey(): Promise<webcrypto.CryptoKey> {
    return unsupported('unwrapKey');
  }

  async encapsulateBits(): Promise<webcrypto.EncapsulatedBits> {
    return unsupported('encapsulateBits');
  }

  async encapsulateKey(): Promise<webcrypto.EncapsulatedKey> {
    return unsupported('encapsulateKey');
  }

  async decapsulateBits(): Promise<ArrayBuffer> {
    return unsupported('decapsulateBits');
  }

  async decapsulateKey(): Promise<webcrypto.CryptoKey> {
    return unsupported('decapsulateKey');
  }
}

function unsupported(method: string): never {
  throw refusal('NotSupportedError', `the token provider does not support ${method}`);
}
