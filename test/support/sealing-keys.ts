import type { TokenMac } from '../../src/sealed-parts/part-cipher.ts';
import type { SealingKey, SealingKeys } from '../../src/sealed-parts/sealing-keys.ts';

/** A key that no token has. */
export function sealingKey(mac: TokenMac, id = '4d00'): SealingKey {
  return { id, mac };
}

/** Keys that are never replaced: one. */
export function oneKey(mac: TokenMac): SealingKeys {
  return {
    using: async (work) => work({ current: sealingKey(mac), former: [] }),
    reread: async () => Promise.resolve(),
  };
}
