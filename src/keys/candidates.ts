import type { OtpRow } from '../state/tables/keys.ts';
import type { GivenSecret, SecretAction } from './credentials.ts';
import type { ActivatableKey } from './key-record.ts';
import type { SecretMark } from './known-secrets.ts';
import { reserve, type PossibleSecret, type Reserved } from './reserved.ts';
import { StretchedPasswords } from './stretching.ts';

/** A given secret, for one action with one key. */
export interface KeyUse<P extends SecretAction> {
  readonly key: ActivatableKey;
  readonly action: P;
  readonly given: GivenSecret;
  readonly mark: SecretMark;
}

/** Makes reserved attempts of given secrets, and stretches those that people chose. */
export class Candidates {
  readonly #stretched = new StretchedPasswords();

  /** Remembers for some minutes the stretched password that the token has accepted. */
  keep({ mark }: Pick<KeyUse<SecretAction>, 'mark'>, { own }: Pick<Reserved<SecretAction>, 'own'>, { secret }: PossibleSecret): void {
    if (own?.stretchSalt !== undefined) this.#stretched.keep(mark, own.stretchSalt, secret);
  }

  /**
   * Undefined if the password must be stretched first. `otp` is undefined if none is open, `unasked`
   * if none was looked up.
   */
  atOnce<P extends SecretAction>({ key, given, action, mark }: KeyUse<P>, otp: OtpRow | 'unasked' | undefined): Reserved<P> | undefined {
    const { secret: own } = key;
    const ownSecret = own?.stretchSalt === undefined ? given.bytes : this.#stretched.kept(mark, own.stretchSalt);
    return ownSecret === undefined ? undefined : reserve<P>({ key, own, given, action, ownSecret, otp });
  }

  /** As `atOnce`, and stretches the password. */
  async stretched<P extends SecretAction>(
    { key, given, action, mark }: KeyUse<P>,
    otp: OtpRow | 'unasked' | undefined,
  ): Promise<Reserved<P>> {
    const { secret: own } = key;
    const ownSecret = own?.stretchSalt !== undefined ? await this.#stretched.of(mark, given.bytes, own.stretchSalt) : given.bytes;
    return reserve<P>({ key, own, given, action, ownSecret, otp });
  }
}
