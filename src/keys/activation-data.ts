import { Refusal } from '../result-codes.ts';
import { step, type Step } from '../state/step.ts';
import type { StateStore } from '../state/state-store.ts';
import type { OtpRow } from '../state/tables/keys.ts';
import type { Token } from '../token/token.ts';
import type { Activation } from './activation.ts';
import type { GivenSecret } from './credentials.ts';
import { bindingText, coversDigests, type BoundDigest } from './digest-binding.ts';
import { checkUsable, type KeyRecord } from './key-record.ts';
import { dataIdOf } from './long-secrets.ts';
import { secretAt, verifyReserved, type PossibleSecret } from './reserved.ts';
import { otpScope, sealOtp } from './seals.ts';

/** Lifetime of activation data, and of a transaction with all the data that it is exchanged for. */
export const activationDataLife = { validMs: 300_000, transactionMs: 1_800_000 } as const;
const attempts = 3;
/** Of a key and a client: one that authorises and never signs must not fill the state store. */
const openMax = 1000;
const secretBytes = 32;
const idBytes = 16;
const timeBytes = 6;

/** The message for a request that has more digests than the activation data has signatures left. */
export const tooManySignatures = 'more signatures than the activation data authorises';

/** What activation data authorises. */
export interface AuthorisedSignatures {
  /** What may be signed, without IDs: digests to be signed, or digests of documents. */
  readonly digests: readonly BoundDigest[];
  /** Number of signatures in all. */
  readonly signatures: number;
  /** SHA-256 of the SubjectPublicKeyInfo of the client that may use it, hexadecimal. */
  readonly client: string;
}

/** Signature activation data (SAD) for its owner. */
export interface OpenedData {
  readonly text: string;
  /** Milliseconds since epoch. */
  readonly expiresAt: number;
}

/** The secrets with which a caller authorises signatures; at least one. */
export interface AuthorisingSecrets {
  /** The key's own password or authToken. */
  readonly pin?: GivenSecret | undefined;
  readonly otp?: GivenSecret | undefined;
}

interface ActivationDataParts {
  readonly store: StateStore;
  readonly token: Pick<Token, 'random' | 'makeMac' | 'verifyProof'>;
  readonly activation: Activation;
}

/**
 * Signature activation data of the Cloud Signature Consortium: one-time passwords with 256 random
 * bits, bound to digests, a number of signatures and a client. The owner of the key authorises them
 * first, and the signature follows without the key's own secret.
 */
export class ActivationData {
  readonly #parts: ActivationDataParts;

  constructor(parts: ActivationDataParts) {
    this.#parts = parts;
  }

  /**
   * Verifies the secrets and opens activation data, with which its client signs later. A one-time
   * password is used up by it. With both secrets, both must be right, the PIN first.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; ACTIVATION_FAILED at `/PIN` or `/OTP`;
   *   DIGEST_NOT_AUTHORISED if the key does not allow the digests; STORE_FULL if too much is open
   */
  async authorise(key: KeyRecord, { pin, otp }: AuthorisingSecrets, what: AuthorisedSignatures): Promise<OpenedData> {
    const { store, token, activation } = this.#parts;
    checkUsable(key, 'sign', store.now());
    if ((await store.run('countOpenData', { reference: key.reference, client: what.client, now: store.now() })) >= openMax) {
      throw new Refusal('STORE_FULL', {
        message: `the client has ${openMax} open authorisations of the key: sign with them, or wait until they end`,
      });
    }
    if (pin !== undefined && otp !== undefined) {
      const { verified } = await activation.attempt(key, { use: 'sign', action: 'AUTHORISE', given: pin }, async (reserved) => {
        const outcome = await verifyReserved(token, reserved);
        return outcome.verified ? { ...outcome, usesUp: false } : outcome;
      });
      if (!verified) throw wrongSecret('PIN');
    }
    const given = otp ?? pin;
    if (given === undefined) throw new Error('a caller authorises signatures with a secret');
    let made: OpenedData | undefined;
    const { verified } = await activation.attempt(key, { use: 'sign', action: 'AUTHORISE', given }, async (reserved) => {
      const outcome = await verifyReserved(token, reserved);
      if (!outcome.verified) return outcome;
      if (!isCovered(key, what)) return { ...outcome, usesUp: true, refusal: new Refusal('DIGEST_NOT_AUTHORISED') };
      const { data, steps } = await this.#make(key, what, store.now() + activationDataLife.transactionMs);
      made = data;
      return {
        ...outcome,
        usesUp: true,
        purpose: { steps, effect: `activation data is open for ${counted(what.signatures)}`, answer: data },
      };
    });
    if (!verified || made === undefined) throw wrongSecret(otp === undefined ? 'PIN' : 'OTP');
    return made;
  }

  /**
   * Exchanges activation data for new data, for as many signatures as are left, of these digests.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; ACTIVATION_FAILED at `/SAD`; DIGEST_NOT_AUTHORISED if
   *   the key does not allow the digests, or there are more of them than signatures left
   */
  async extend(key: KeyRecord, given: GivenSecret, digests: readonly BoundDigest[]): Promise<OpenedData> {
    const { token, activation } = this.#parts;
    checkUsable(key, 'sign', this.#parts.store.now());
    let made: OpenedData | undefined;
    const { verified } = await activation.attempt(key, { use: 'sign', action: 'EXTEND', given }, async (reserved) => {
      const outcome = await verifyReserved(token, reserved);
      if (!outcome.verified) return outcome;
      const { data: row } = secretAt(reserved, outcome.by);
      if (row === undefined || row.signatures === null || row.client === null || row.ends_at === null)
        throw new Error('the row is not that of activation data');
      if (!isCovered(key, { digests })) return { ...outcome, usesUp: true, refusal: new Refusal('DIGEST_NOT_AUTHORISED') };
      if (digests.length > row.signatures) {
        return { ...outcome, usesUp: true, refusal: new Refusal('DIGEST_NOT_AUTHORISED', { message: tooManySignatures }) };
      }
      const what = { digests, signatures: row.signatures, client: row.client };
      const { data, steps } = await this.#make(key, what, row.ends_at);
      made = data;
      return {
        ...outcome,
        usesUp: true,
        purpose: { steps, effect: `new activation data is open for ${counted(what.signatures)}`, answer: data },
      };
    });
    if (!verified || made === undefined) throw wrongSecret('SAD');
    return made;
  }

  /**
   * Reads activation data as a caller gives it. What has expired is refused here: it reaches no
   * token, and counts as no attempt.
   * @throws {Refusal} ACTIVATION_FAILED
   */
  given(text: string, client: string): GivenSecret {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length !== idBytes + timeBytes + secretBytes || bytes.toString('base64url') !== text) throw wrongSecret('SAD');
    if (bytes.readUIntBE(idBytes, timeBytes) <= this.#parts.store.now()) {
      throw new Refusal('ACTIVATION_FAILED', { at: '/SAD', message: expiredData });
    }
    const otpId = bytes.toString('hex', 0, idBytes);
    return { member: 'sad', bytes: bytes.subarray(idBytes + timeBytes), transactionId: undefined, data: { otpId, client } };
  }

  async #make(key: KeyRecord, what: AuthorisedSignatures, endsAt: number): Promise<{ data: OpenedData; steps: readonly Step[] }> {
    const { store, token } = this.#parts;
    const now = store.now();
    const secret = await token.random(secretBytes);
    const id = dataIdOf(secret);
    const expiresAt = Math.min(now + activationDataLife.validMs, endsAt);
    const facts = {
      ...{ otp_id: id, action: 'SAD' as const, bound_digests: bindingText(what.digests), expires_at: expiresAt },
      ...{ signatures: what.signatures, client: what.client, ends_at: endsAt },
    };
    const row = await sealedRow(token, key, facts, secret);
    const time = Buffer.alloc(timeBytes);
    time.writeUIntBE(expiresAt, 0, timeBytes);
    const text = Buffer.concat([Buffer.from(id, 'hex'), time, secret]).toString('base64url');
    return { data: { text, expiresAt }, steps: [step('putOtp', { otp: row, now })] };
  }
}

function counted(signatures: number): string {
  return `${signatures} ${signatures === 1 ? 'signature' : 'signatures'}`;
}

/** The message for activation data that has expired. */
export const expiredData = 'the activation data has expired';

/**
 * Returns the steps that keep the signatures left of activation data that has signed: it signs
 * nothing more, and may be exchanged for new data. None for another secret.
 */
export async function restOf(
  token: Pick<Token, 'makeMac'>,
  key: KeyRecord,
  { data, secret }: PossibleSecret,
  signaturesMade: number,
): Promise<readonly Step[]> {
  const left = (data?.signatures ?? 0) - signaturesMade;
  if (data === undefined || left <= 0) return [];
  const row = await sealedRow(token, key, { ...data, action: 'SAD_REST', bound_digests: bindingText([]), signatures: left }, secret);
  // Nothing has expired at 0: the row alone is written.
  return [step('putOtp', { otp: row, now: 0 })];
}

type DataFacts = Pick<OtpRow, 'otp_id' | 'bound_digests' | 'expires_at' | 'signatures' | 'client' | 'ends_at'> & {
  readonly action: 'SAD' | 'SAD_REST';
};

async function sealedRow(token: Pick<Token, 'makeMac'>, key: KeyRecord, facts: DataFacts, secret: Uint8Array): Promise<OtpRow> {
  const { otp_id, action, bound_digests, expires_at, signatures, client, ends_at } = facts;
  const scope = otpScope(key.seal.scope, facts, key.secret?.mac ?? null);
  const { salt, mac } = await token.makeMac(key.id, action, secret, scope);
  const seal = await sealOtp(token, key.id, scope, { salt, mac });
  return {
    ...{ reference: key.reference, otp_id, action, bound_digests, expires_at, signatures, client, ends_at },
    ...{ salt, mac, attempts_left: attempts, reserved_until: null },
    ...seal,
  };
}

/** Asked with a right secret alone: what a key is bound to is told to nobody else. */
function isCovered({ binding }: KeyRecord, { digests }: Pick<AuthorisedSignatures, 'digests'>): boolean {
  return coversDigests(binding, digests, 'without ID');
}

function wrongSecret(name: 'PIN' | 'OTP' | 'SAD'): Refusal {
  return new Refusal('ACTIVATION_FAILED', { at: `/${name}` });
}
