import type { webcrypto } from 'node:crypto';

/**
 * A CryptoKey that stands for a key on the token. It holds nothing of the key, and which key it
 * stands for is known to the provider that made it alone: a copy of its members, or a key of
 * another provider, signs nothing.
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
