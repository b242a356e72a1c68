import type { webcrypto } from 'node:crypto';

/**
 * A CryptoKey that represents a key on the token. It contains nothing of the key, and only the
 * provider that made it knows which key it represents: a copy of its members, or a key of another
 * provider, cannot sign.
 */
export class TokenCryptoKey implements webcrypto.CryptoKey {
  readonly type: 'private' | 'secret';
  readonly extractable = false;
  readonly algorithm: webcrypto.KeyAlgorithm;
  readonly usages: webcrypto.KeyUsage[];

  constructor(type: 'private' | 'secret', algorithm: webcrypto.KeyAlgorithm, usages: readonly webcrypto.KeyUsage[]) {
    this.type = type;
    this.algorithm = algorithm;
    this.usages = [...usages];
  }

  get [Symbol.toStringTag](): string {
    return 'CryptoKey';
  }
}
