import { randomUUID } from 'node:crypto';
import type { OtpRow } from '../state/tables/keys.ts';
import type { Token } from '../token/token.ts';
import type { SecretAction } from './credentials.ts';
import { bindingText, type DigestBinding } from './digest-binding.ts';
import type { KeyRecord, Subscriber } from './key-record.ts';
import { otpKinds } from './reserved.ts';
import { otpScope, sealOtp } from './seals.ts';
import type { Use } from './states.ts';

/** Length of a one-time password (contract §6). */
const digits = 8;
const validMs = 300_000;
const attempts = 3;

const values = 10 ** digits;
/** The largest multiple of `values` below 2^32: numbers above it would favour some passwords. */
const fairBelow = Math.floor(2 ** 32 / values) * values;
const drawnBytes = 32;

/** Actions for which one-time passwords are made. */
export type MadeOtpAction = Exclude<SecretAction, 'EXTEND'>;

/** The use that a one-time password for each action authorises. */
export const otpUses = {
  SIGN: 'sign',
  CHANGE_PASSWORD: 'changePassword',
  REVOKE: 'revoke',
  AUTHORISE: 'sign',
} as const satisfies Record<MadeOtpAction, Use>;

/**
 * Makes a one-time password and its row. `now`: milliseconds since epoch, start of its validity.
 */
export async function makeOtp(
  token: Pick<Token, 'random' | 'makeMac'>,
  key: KeyRecord,
  action: MadeOtpAction,
  { binding, now }: { binding: DigestBinding; now: number },
): Promise<{ text: string; row: OtpRow }> {
  const text = await drawOtp(token);
  const facts = {
    ...{ otp_id: randomUUID(), action, bound_digests: bindingText(binding), expires_at: now + validMs },
    ...{ signatures: null, client: null, ends_at: null },
  };
  const scope = otpScope(key.seal.scope, facts, null);
  const { salt, mac } = await token.makeMac(key.id, otpKinds[action], Buffer.from(text), scope);
  const seal = await sealOtp(token, key.id, scope, { salt, mac });
  return {
    text,
    row: { reference: key.reference, ...facts, salt, mac, attempts_left: attempts, reserved_until: null, ...seal },
  };
}

async function drawOtp(token: Pick<Token, 'random'>): Promise<string> {
  for (;;) {
    const bytes = Buffer.from(await token.random(drawnBytes));
    for (let offset = 0; offset < bytes.length; offset += 4) {
      const number = bytes.readUInt32BE(offset);
      if (number < fairBelow) return String(number % values).padStart(digits, '0');
    }
  }
}

/** Sends a text to the owner of a key: the port that `messages/` implements. */
export interface Deliver {
  /**
   * Resolves when a gateway has accepted the text.
   * @throws {Refusal} if the owner cannot be reached, or no gateway accepts the text
   */
  (subscriber: Subscriber, text: string): Promise<void>;
}
