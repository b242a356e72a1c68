import { createPublicKey, type KeyObject } from 'node:crypto';
import { parseCertificate, type ParsedCertificate } from '../certificates/x509.ts';
import type { TenantId } from '../clients/caller.ts';
import { keyTypes, type KeyType } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import type { Counters } from '../state/repositories/attempts.ts';
import type { KeyWithCertificate } from '../state/repositories/keys.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';

declare const brand: unique symbol;

/** SHA-1 fingerprint of a key's certificate, 40 lower-case hexadecimal digits: `keyReference.reference` of the interface. */
export type KeyReferenceId = string & { readonly [brand]: 'KeyReferenceId' };

/** @throws {RangeError} */
export function parseKeyReferenceId(text: string): KeyReferenceId {
  if (!/^[0-9a-fA-F]{40}$/.test(text)) throw new RangeError('not a SHA-1 fingerprint in hexadecimal');
  return text.toLowerCase() as KeyReferenceId;
}

export const keyStates = ['ACTIVE', 'LOCKED', 'EXPIRED', 'REMOVED'] as const;
export type KeyState = (typeof keyStates)[number];

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
  readonly certificate: ParsedCertificate;
  readonly publicKey: KeyObject;
  readonly subscriber: Subscriber;
  secret: { readonly salt: Uint8Array; readonly mac: Uint8Array };
  removed: boolean;
  failuresInRow: number;
  failuresSinceSuccess: number;
  /** Milliseconds since epoch. */
  lockedUntil: number | undefined;
  /** Another instance changed the row since this was read. */
  isStale: boolean;
}

/** Contract §6: five failures in a row lock for 15 minutes, twenty without a success until the operator unlocks. */
export const lockRule = { failuresInRow: 5, lockMs: 15 * 60_000, failuresSinceSuccess: 20 } as const;

export function recordOf(row: KeyWithCertificate, tenant: TenantId): KeyRecord {
  const certificate = parseCertificate(row.der);
  const type = keyTypes.find((name) => name === row.key_type);
  if (type === undefined) throw new Error(`key ${row.reference} has the unknown type ${row.key_type}`);
  return {
    reference: parseKeyReferenceId(row.reference),
    tenant,
    id: parseKeyId(row.key_id),
    type,
    certificate,
    publicKey: createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' }),
    subscriber: { emailAddress: row.subscriber_email ?? undefined, phoneNumber: row.subscriber_phone ?? undefined },
    isStale: false,
    ...changeableFields(row),
  };
}

/** What of a record changes in its life. */
export function changeableFields(row: KeyWithCertificate): Pick<KeyRecord, 'secret' | 'removed'> & CounterFields {
  return { secret: { salt: row.secret_salt, mac: row.secret_mac }, removed: row.state === 'REMOVED', ...counterFields(row) };
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

export function stateOf(key: KeyRecord, now: number): KeyState {
  if (key.removed) return 'REMOVED';
  if (key.certificate.notAfter.getTime() <= now) return 'EXPIRED';
  return isLocked(key, now) ? 'LOCKED' : 'ACTIVE';
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

/** @throws {Refusal} KEY_STATE for a removed or (unless allowed) expired key, then KEY_LOCKED. */
export function checkUsable(key: KeyRecord, now: number, allowExpired = false): void {
  const state = stateOf(key, now);
  if (state === 'REMOVED') throw new Refusal('KEY_STATE', { message: 'the key is removed' });
  if (state === 'EXPIRED' && !allowExpired) throw new Refusal('KEY_STATE', { message: 'the certificate of the key has expired' });
  checkNotLocked(key, now);
}

/** @throws {Refusal} KEY_LOCKED; the message says until when. */
export function checkNotLocked(key: KeyRecord, now: number): void {
  if (isLockedForGood(key)) throw new Refusal('KEY_LOCKED', { message: 'the key is locked until the operator unlocks it' });
  if (key.lockedUntil !== undefined && key.lockedUntil > now) {
    throw new Refusal('KEY_LOCKED', { message: `the key is locked until ${new Date(key.lockedUntil).toISOString()}` });
  }
}
