import { Refusal } from '../result-codes.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { Token } from '../token/token.ts';
import type { Activation, Complete } from './activation.ts';
import type { GivenSecret } from './credentials.ts';
import type { IdentityKey } from './identity-keys.ts';
import { signZonesReserved, type Reserved } from './reserved.ts';
import type { Verdict } from './settling.ts';

/** Leaves room for lengths and proofs in a message to the token host. */
const zonesMaxBytes = 900 * 1024;

/** Data zones of 2D-Doc, and the algorithm of their signatures, which the curve decides (§3.5). */
export interface ZonesToBeSigned {
  readonly algorithm: SignatureAlgorithm;
  /** The exact bytes of the header and the message of each. */
  readonly zones: readonly Uint8Array[];
}

interface ZoneSigningParts {
  readonly activation: Activation;
  readonly token: Pick<Token, 'signAsIdentity'>;
}

/** Signs data zones with the key of a digital identity, after its password is verified. */
export class ZoneSigning {
  readonly #parts: ZoneSigningParts;

  constructor(parts: ZoneSigningParts) {
    this.#parts = parts;
  }

  /** @see Keyring.signZones */
  async sign<T extends object>(key: IdentityKey, given: GivenSecret, what: ZonesToBeSigned, complete: Complete<T>): Promise<T> {
    const { activation, token } = this.#parts;
    const bytes = what.zones.reduce((sum, { length }) => sum + length, 0);
    if (bytes > zonesMaxBytes)
      throw new Refusal('UNSUPPORTED', { message: `the zones of a request have at most ${zonesMaxBytes} characters together` });
    const ask = async (reserved: Reserved<'SIGN'>): Promise<Verdict> => {
      const outcome = await signZonesReserved(token, reserved, what);
      return outcome.verified ? { ...outcome, usesUp: false } : outcome;
    };
    return activation.activate(key, { use: 'sign', action: 'SIGN', given }, ask, complete);
  }
}
