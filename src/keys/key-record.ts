import type { KeyObject } from 'node:crypto';
import type { IssuingChain } from '../certificates/chains.ts';
import { readCertificate, type Certificate } from '../x509/certificate.ts';
import type { TenantId } from '../clients/caller.ts';
import { keyTypes, type KeyType } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import type { Counters } from '../state/repositories/attempts.ts';
import type { KeyWithCertificate } from '../state/repositories/keys.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';
import { readPublicKey } from '../verification/public-key.ts';
import { bindingOf, type DigestBinding } from './digest-binding.ts';
import { keySeal, tampered, type Seal } from './seals.ts';
import { checkState, storedStates, type KeyState, type StoredState, type Use } from './states.ts';

declare const brand: unique symbol;

/** SHA-1 fingerprint of a key's certificate, 40 lower-case hexadecimal digits: `keyReference.reference` of the interface. */
export type KeyReferenceId = string & { readonly [brand]: 'KeyReferenceId' };

/** @throws {RangeError} */
export function parseKeyReferenceId(text: string): KeyReferenceId {
  if (!/^[0-9a-fA-F]{40}$/.test(text)) throw new RangeError('not a SHA-1 fingerprint in hexadecimal');
  return text.toLowerCase() as KeyReferenceId;
}

/** How a signature is activated (contract §6). */
export const activationProtocols = ['PASSWORD', 'OTP', 'SINGLE_USE'] as const;
export type ActivationProtocol = (typeof activationProtocols)[number];

/** What a MAC was made with, and the MAC. */
export interface StoredSecret {
  /** 16 bytes, which the token host drew. */
  readonly salt: Uint8Array;
  readonly mac: Uint8Array;
  /** The salt of scrypt, where the MAC is over the secret as that stretches it. */
  readonly stretchSalt?: Uint8Array | undefined;
}

const macSaltBytes = 16;

/**
 * As the store has it. A stretched secret has two salts, one after the other: that of the MAC, which the token host draws, and that of scrypt, which is needed
 * before. Those of earlier versions have one for both.
 */
export function storedSecret(salt: Uint8Array, mac: Uint8Array, stretched: number): StoredSecret {
  const stretchSalt = salt.length > macSaltBytes ? salt.subarray(macSaltBytes) : salt;
  return { salt: salt.subarray(0, macSaltBytes), mac, ...(stretched === 1 ? { stretchSalt } : {}) };
}

export interface Subscriber {
  readonly emailAddress?: string | undefined;
  readonly phoneNumber?: string | undefined;
}

/** A caller's key as it is kept in memory. The counters follow every attempt. */
export interface KeyRecord {
  readonly reference: KeyReferenceId;
  readonly tenant: TenantId;
  readonly id: KeyId;
  readonly type: KeyType;
  readonly certificate: Certificate;
  readonly publicKey: KeyObject;
  /** The configured name of the authority that issued the certificate. */
  readonly authority: string;
  /** What it was issued under; undefined where an earlier version issued it. */
  readonly issuers: IssuingChain | undefined;
  readonly protocol: ActivationProtocol;
  /** The documents that it may sign, by their digests. */
  readonly binding: DigestBinding;
  /** The MAC of the transaction that it is tied to. */
  readonly transaction: StoredSecret | undefined;
  readonly subscriber: Subscriber;
  /** With the protocol OTP the key has none of its own. */
  secret: StoredSecret | undefined;
  /** What the row was sealed with when it was last judged. Its scope never changes: it is under the MAC of each secret of the key. */
  seal: Seal;
  /** Why the row is not as the service wrote it, where that was found since. */
  fault: string | undefined;
  state: StoredState;
  failuresInRow: number;
  failuresSinceSuccess: number;
  /** Milliseconds since epoch. */
  lockedUntil: number | undefined;
  /** End of the token host's refusal to compare secrets of the key, as last reported; milliseconds since epoch. */
  heldBackUntil: number | undefined;
  /** What it takes in memory, roughly: bytes. */
  readonly weight: number;
  /** Another instance changed the row since this was read. */
  isStale: boolean;
}

/** Contract §6: five failures in a row lock for 15 minutes, twenty without a success until the operator unlocks. */
export const lockRule = { failuresInRow: 5, lockMs: 15 * 60_000, failuresSinceSuccess: 20 } as const;

/** Of a record without certificate and list: objects, key, maps. */
const recordBytes = 4096;

export function recordOf(row: KeyWithCertificate, tenant: TenantId, issuers: IssuingChain | undefined): KeyRecord {
  const certificate = readCertificate(row.der);
  const type = keyTypes.find((name) => name === row.key_type);
  const protocol = activationProtocols.find((name) => name === row.protocol);
  if (type === undefined) throw new Error(`key ${row.reference} has the unknown type ${row.key_type}`);
  if (protocol === undefined) throw new Error(`key ${row.reference} has the unknown protocol ${row.protocol}`);
  return {
    reference: parseKeyReferenceId(row.reference),
    tenant,
    id: parseKeyId(row.key_id),
    type,
    certificate,
    publicKey: readPublicKey(certificate.subjectPublicKeyInfo),
    authority: row.authority,
    issuers,
    protocol,
    binding: bindingOf(row.bound_digests),
    // The MAC decides, as in the scope. A row that has lost only its salt matches no transaction.
    transaction:
      row.transaction_mac === null ? undefined : { salt: row.transaction_salt ?? Buffer.alloc(macSaltBytes), mac: row.transaction_mac },
    subscriber: { emailAddress: row.subscriber_email ?? undefined, phoneNumber: row.subscriber_phone ?? undefined },
    weight: recordBytes + 2 * row.der.length + 3 * (row.bound_digests?.length ?? 0),
    isStale: false,
    seal: keySeal(row),
    fault: undefined,
    heldBackUntil: undefined,
    ...changeableFields(row),
  };
}

/** What of a record changes in its life. */
export function changeableFields(row: KeyWithCertificate): Pick<KeyRecord, 'secret' | 'state'> & CounterFields {
  const state = storedStates.find((name) => name === row.state);
  if (state === undefined) throw new Error(`key ${row.reference} has the unknown state ${row.state}`);
  const secret = row.secret_mac.length === 0 ? undefined : storedSecret(row.secret_salt, row.secret_mac, row.secret_stretched);
  return { secret, state, ...counterFields(row) };
}

type CounterFields = Pick<KeyRecord, 'failuresInRow' | 'failuresSinceSuccess' | 'lockedUntil'>;

function counterFields(counters: Counters): CounterFields {
  return {
    failuresInRow: counters.failures_in_row,
    failuresSinceSuccess: counters.failures_since_success,
    lockedUntil: counters.locked_until ?? undefined,
  };
}

/** Takes over the counters as the store has them. */
export function setCounters(key: KeyRecord, counters: Counters): void {
  Object.assign(key, counterFields(counters));
}

/** Locked by the operator's rule: nothing but an operator unlocks it. */
export function isLockedForGood(key: KeyRecord): boolean {
  return key.failuresSinceSuccess >= lockRule.failuresSinceSuccess;
}

/** The state that callers see. What has ended for good goes before the end of the certificate, and that before what may yet be lifted. */
export function stateOf(key: KeyRecord, now: number): KeyState {
  const state = stateButLock(key, now);
  return state === 'ACTIVE' && isLocked(key, now) ? 'LOCKED' : state;
}

function stateButLock({ state, certificate }: KeyRecord, now: number): Exclude<KeyState, 'LOCKED'> {
  const mayChange = state === 'ACTIVE' || state === 'ON_HOLD';
  return mayChange && certificate.notAfter.getTime() <= now ? 'EXPIRED' : state;
}

export function isLocked(key: KeyRecord, now: number): boolean {
  return isLockedForGood(key) || (key.lockedUntil !== undefined && key.lockedUntil > now);
}

/** Failures that the key still takes before it locks. */
export function remainingAttempts(key: KeyRecord, now: number): number {
  if (isLocked(key, now)) return 0;
  const inRow = key.lockedUntil === undefined ? key.failuresInRow : 0;
  return Math.min(lockRule.failuresInRow - inRow, lockRule.failuresSinceSuccess - key.failuresSinceSuccess);
}

/** State of a key as callers and operators see it. */
export interface Standing {
  readonly state: KeyState;
  readonly remainingAttempts: number;
  /** End of a temporary lock; milliseconds since epoch. */
  readonly lockedUntil: number | undefined;
}

/**
 * Returns the state of a key for display, including what the token host last reported. Nothing is
 * decided by that report: the host decides each time.
 * @param now time of the state store, which locks use; milliseconds since epoch
 * @param hostNow time of the token host, which is this machine's; milliseconds since epoch
 */
export function standingOf(key: KeyRecord, now: number, hostNow = Date.now()): Standing {
  const state = stateOf(key, now);
  const lockEnd = key.lockedUntil !== undefined && key.lockedUntil > now ? key.lockedUntil : undefined;
  const holdEnd = key.heldBackUntil !== undefined && key.heldBackUntil > hostNow ? key.heldBackUntil : undefined;
  return {
    state: state === 'ACTIVE' && holdEnd !== undefined ? 'LOCKED' : state,
    remainingAttempts: holdEnd === undefined ? remainingAttempts(key, now) : 0,
    lockedUntil: lockEnd === undefined || (holdEnd !== undefined && holdEnd > lockEnd) ? holdEnd : lockEnd,
  };
}

/** @throws {Refusal} ACTIVATION_FAILED where the row of the key is not as the service wrote it. */
export function checkUntampered({ fault }: KeyRecord): void {
  if (fault !== undefined) throw tampered(fault);
}

/** @throws {Refusal} as `checkUntampered`; KEY_STATE where the state of the key does not allow this, then KEY_LOCKED. */
export function checkUsable(key: KeyRecord, use: Use, now: number): void {
  checkUntampered(key);
  checkState(stateButLock(key, now), use);
  checkNotLocked(key, now);
}

/** @throws {Refusal} KEY_LOCKED; the message says until when. */
export function checkNotLocked(key: KeyRecord, now: number): void {
  if (isLockedForGood(key)) throw new Refusal('KEY_LOCKED', { message: 'the key is locked until the operator unlocks it' });
  if (key.lockedUntil !== undefined && key.lockedUntil > now) {
    throw new Refusal('KEY_LOCKED', { message: `the key is locked until ${new Date(key.lockedUntil).toISOString()}` });
  }
}
