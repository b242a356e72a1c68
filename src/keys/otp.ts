import { randomUUID } from 'node:crypto';
import { auditSteps } from '../audit/audited-request.ts';
import { Refusal } from '../result-codes.ts';
import { outcomeSteps } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import type { OtpRow } from '../state/tables/keys.ts';
import type { Token } from '../token/token.ts';
import type { SecretAction } from './credentials.ts';
import { bindingText, coversDigests, type BoundDigest, type DigestBinding } from './digest-binding.ts';
import { checkUsable, type KeyRecord, type Subscriber } from './key-record.ts';
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

/** A one-time password that is to be made. */
export interface AskedOtp {
  readonly action: MadeOtpAction;
  /** Only for SIGN. */
  readonly digests: readonly BoundDigest[];
  readonly deliver?: Deliver | undefined;
}

/** @see Keyring.makeOtp */
export async function openOtp(
  store: StateStore,
  token: Pick<Token, 'random' | 'makeMac'>,
  key: KeyRecord,
  { action, digests, deliver }: AskedOtp,
): Promise<string | undefined> {
  checkUsable(key, otpUses[action], store.now());
  const isForSigning = action === 'SIGN';
  if (isForSigning && !coversDigests(key.binding, digests)) throw new Refusal('DIGEST_NOT_AUTHORISED');
  const { text, row } = await makeOtp(token, key, action, { binding: isForSigning ? digests : undefined, now: store.now() });
  // The previous one stays open until the new one is delivered.
  await deliver?.(key.subscriber, text);
  const answer = deliver === undefined ? { password: text } : {};
  const outcome = await outcomeSteps({ answer, until: row.expires_at, whileOtp: row.otp_id });
  await store.commit([step('putOtp', { otp: row, now: store.now() }), ...auditSteps('a one-time password is open'), ...outcome]);
  return deliver === undefined ? text : undefined;
}
