import type { KeyObject } from 'node:crypto';
import type { IssuingChain } from '../certificates/chains.ts';
import { readCertificate, type Certificate } from '../x509/certificate.ts';
import type { TenantId } from '../clients/caller.ts';
import { keyTypes, type KeyType } from '../config/key-types.ts';
import { Refusal } from '../result-codes.ts';
import type { Counters, KeyTable } from '../state/repositories/attempts.ts';
import type { KeyWithCertificate } from '../state/repositories/keys.ts';
import type { KeyRow } from '../state/tables/keys.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';
import { readPublicKey } from '../verification/public-key.ts';
import { bindingOf, type DigestBinding } from './digest-binding.ts';
import { keySeal, tampered, type Seal } from './seals.ts';
import { checkState, storedStates, type KeyState, type StoredState, type Use } from './states.ts';

declare const brand: unique symbol;

/**
 * SHA-1 fingerprint of a key's certificate, 40 lower-case hexadecimal digits:
 * `keyReference.reference` in the interface.
 */
export type KeyReferenceId = string & { readonly [brand]: 'KeyReferenceId' };

/** Whether the text has the form of a key reference. */
export function isKeyReference(text: string): text is KeyReferenceId {
  return /^[0-9a-fA-F]{40}$/.test(text);
}

/** Parses a key reference. @throws {RangeError} if the text is not one */
export function parseKeyReferenceId(text: string): KeyReferenceId {
  if (!isKeyReference(text)) throw new RangeError('not a SHA-1 fingerprint in hexadecimal');
  return text.toLowerCase() as KeyReferenceId;
}

/** How a signature is activated (contract §6). */
export const activationProtocols = ['PASSWORD', 'OTP', 'SINGLE_USE'] as const;
export type ActivationProtocol = (typeof activationProtocols)[number];

/** A MAC, and the salts that it was made with. */
export interface StoredSecret {
  /** 16 bytes, drawn by the token host. */
  readonly salt: Uint8Array;
  readonly mac: Uint8Array;
  /** The scrypt salt, if the MAC is over the stretched secret. */
  readonly stretchSalt?: Uint8Array | undefined;
  /** The MAC of the same secret under a former MAC key, if it was made anew. */
  readonly formerMac?: Uint8Array | undefined;
  /** SHA-256 of an authToken; undefined if an earlier version made it, and for a password. */
  readonly hash?: Uint8Array | undefined;
}

const macSaltBytes = 16;
const hashBytes = 32;

/**
 * Reads a stored secret. A stretched secret has two salts, concatenated: the salt of the MAC, drawn
 * by the token host, and the scrypt salt, which is needed first. Secrets made by earlier versions
 * use one salt for both. The salt of an authToken is followed by its hash.
 */
export function storedSecret(salt: Uint8Array, mac: Uint8Array, stretched: number): StoredSecret {
  const stretchSalt = salt.length > macSaltBytes ? salt.subarray(macSaltBytes) : salt;
  const rest = salt.subarray(macSaltBytes);
  return {
    ...{ salt: salt.subarray(0, macSaltBytes), mac },
    ...(stretched === 1 ? { stretchSalt } : {}),
    ...(stretched === 0 && rest.length === hashBytes ? { hash: rest } : {}),
  };
}

export interface Subscriber {
  readonly emailAddress?: string | undefined;
  readonly phoneNumber?: string | undefined;
}

/** What activation uses of a key with a secret. The counters follow every attempt. */
export interface ActivatableKey {
  /**
   * The table of the state store that has its row: callers' keys, or those of digital identities.
   */
  readonly table: KeyTable;
  /** Names its row. */
  readonly reference: KeyReferenceId;
  readonly tenant: TenantId;
  readonly id: KeyId;
  readonly type: KeyType;
  readonly protocol: ActivationProtocol;
  /** MAC of the transaction that the key is bound to. */
  readonly transaction: StoredSecret | undefined;
  /** End of its certificate, in milliseconds since epoch. */
  readonly expiresAt: number;
  /** Undefined for protocol OTP, which has no secret of its own. */
  secret: StoredSecret | undefined;
  /**
   * The seal of the row when it was last checked. Its scope never changes: every secret's MAC
   * covers it.
   */
  seal: Seal;
  /** The fault of the row, if it was found changed since. */
  fault: string | undefined;
  state: StoredState;
  failuresInRow: number;
  failuresSinceSuccess: number;
  /** Milliseconds since epoch. */
  lockedUntil: number | undefined;
  /**
   * Until when the token host refuses to compare secrets of the key, as last reported; milliseconds
   * since epoch.
   */
  heldBackUntil: number | undefined;
  /** True if another instance has changed the row since it was read. */
  isStale: boolean;
}

/** A caller's key in memory. */
export interface KeyRecord extends ActivatableKey {
  readonly certificate: Certificate;
  readonly publicKey: KeyObject;
  /** The configured name of the authority that issued the certificate. */
  readonly authority: string;
  /** The issuing chain; undefined if an earlier version issued the certificate. */
  readonly issuers: IssuingChain | undefined;
  /** Digests of the documents that the key may sign. */
  readonly binding: DigestBinding;
  readonly subscriber: Subscriber;
  /** Approximate size in memory, in bytes. */
  readonly weight: number;
}

/**
 * Contract §6: five failures in a row lock the key for 15 minutes; twenty without a success lock it
 * until the operator unlocks it.
 */
export const lockRule = { failuresInRow: 5, lockMs: 15 * 60_000, failuresSinceSuccess: 20 } as const;

/** Size of a record without certificate and list: objects, key, maps. */
const recordBytes = 4096;

export function recordOf(row: KeyWithCertificate, tenant: TenantId, issuers: IssuingChain | undefined): KeyRecord {
  const certificate = readCertificate(row.der);
  const type = keyTypes.find((name) => name === row.key_type);
  const protocol = activationProtocols.find((name) => name === row.protocol);
  if (type === undefined) throw new Error(`key ${row.reference} has the unknown type ${row.key_type}`);
  if (protocol === undefined) throw new Error(`key ${row.reference} has the unknown protocol ${row.protocol}`);
  return {
    table: 'keys',
    reference: parseKeyReferenceId(row.reference),
    tenant,
    id: parseKeyId(row.key_id),
    type,
    certificate,
    expiresAt: certificate.notAfter.getTime(),
    publicKey: readPublicKey(certificate.subjectPublicKeyInfo),
    authority: row.authority,
    issuers,
    protocol,
    binding: bindingOf(row.bound_digests),
    // The MAC decides, as it does in the scope. A row that has lost only its salt matches no
    // transaction.
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

type ChangeableColumns = Counters &
  Pick<KeyRow, 'reference' | 'state' | 'secret_salt' | 'secret_mac' | 'secret_stretched'> & {
    readonly secret_former_mac?: Uint8Array | null;
  };

/** Returns the fields of a record that change during its life. */
export function changeableFields(row: ChangeableColumns): Pick<ActivatableKey, 'secret' | 'state'> & CounterFields {
  const state = storedStates.find((name) => name === row.state);
  if (state === undefined) throw new Error(`key ${row.reference} has the unknown state ${row.state}`);
  const secret =
    row.secret_mac.length === 0
      ? undefined
      : {
          ...storedSecret(row.secret_salt, row.secret_mac, row.secret_stretched),
          ...(row.secret_former_mac === undefined || row.secret_former_mac === null ? {} : { formerMac: row.secret_former_mac }),
        };
  return { secret, state, ...counterFields(row) };
}

type CounterFields = Pick<ActivatableKey, 'failuresInRow' | 'failuresSinceSuccess' | 'lockedUntil'>;

function counterFields(counters: Counters): CounterFields {
  return {
    failuresInRow: counters.failures_in_row,
    failuresSinceSuccess: counters.failures_since_success,
    lockedUntil: counters.locked_until ?? undefined,
  };
}

/** Copies the counters from the store. */
export function setCounters(key: ActivatableKey, counters: Counters): void {
  Object.assign(key, counterFields(counters));
}

/** Whether one-time passwords may activate the key; that of an identity has its password only. */
export function takesOtps({ table }: ActivatableKey): boolean {
  return table === 'keys';
}

/** Checks whether the key is locked until an operator unlocks it. */
export function isLockedForGood(key: ActivatableKey): boolean {
  return key.failuresSinceSuccess >= lockRule.failuresSinceSuccess;
}

/**
 * Returns the state that callers see. A final state takes precedence over the expiry of the
 * certificate, and that over states that may be lifted.
 */
export function stateOf(key: ActivatableKey, now: number): KeyState {
  const state = stateButLock(key, now);
  return state === 'ACTIVE' && isLocked(key, now) ? 'LOCKED' : state;
}

function stateButLock({ state, expiresAt }: ActivatableKey, now: number): Exclude<KeyState, 'LOCKED'> {
  const mayChange = state === 'ACTIVE' || state === 'ON_HOLD';
  return mayChange && expiresAt <= now ? 'EXPIRED' : state;
}

export function isLocked(key: ActivatableKey, now: number): boolean {
  return isLockedForGood(key) || (key.lockedUntil !== undefined && key.lockedUntil > now);
}

/** Returns the number of failures left before the key locks. */
export function remainingAttempts(key: ActivatableKey, now: number): number {
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
export function standingOf(key: ActivatableKey, now: number, hostNow = Date.now()): Standing {
  const state = stateOf(key, now);
  const lockEnd = key.lockedUntil !== undefined && key.lockedUntil > now ? key.lockedUntil : undefined;
  const holdEnd = key.heldBackUntil !== undefined && key.heldBackUntil > hostNow ? key.heldBackUntil : undefined;
  return {
    state: state === 'ACTIVE' && holdEnd !== undefined ? 'LOCKED' : state,
    remainingAttempts: holdEnd === undefined ? remainingAttempts(key, now) : 0,
    lockedUntil: lockEnd === undefined || (holdEnd !== undefined && holdEnd > lockEnd) ? holdEnd : lockEnd,
  };
}

/**
 * Checks that the row of the key is as the service wrote it.
 * @throws {Refusal} ACTIVATION_FAILED
 */
export function checkUntampered({ fault }: ActivatableKey): void {
  if (fault !== undefined) throw tampered(fault);
}

/**
 * Checks that the key may be used.
 * @throws {Refusal} as `checkUntampered`; KEY_STATE if the state of the key does not allow this
 *   use, then KEY_LOCKED
 */
export function checkUsable(key: ActivatableKey, use: Use, now: number): void {
  checkUntampered(key);
  checkState(stateButLock(key, now), use);
  checkNotLocked(key, now);
}

/** Checks that the key is not locked. @throws {Refusal} KEY_LOCKED; the message says until when */
export function checkNotLocked(key: ActivatableKey, now: number): void {
  if (isLockedForGood(key)) throw new Refusal('KEY_LOCKED', { message: 'the key is locked until the operator unlocks it' });
  if (key.lockedUntil !== undefined && key.lockedUntil > now) {
    throw new Refusal('KEY_LOCKED', { message: `the key is locked until ${new Date(key.lockedUntil).toISOString()}` });
  }
}
