import { hash } from 'node:crypto';
import { noteTampering } from '../audit/audited-request.ts';
import { Refusal } from '../result-codes.ts';
import type { KeyWithCertificate } from '../state/repositories/keys.ts';
import type { IdentityKeyRow } from '../state/tables/identity-keys.ts';
import type { KeyRow, OtpRow, Sealed } from '../state/tables/keys.ts';
import type { KeyPoolRow } from '../state/tables/token-keys.ts';
import type { Logger } from '../telemetry/log.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';
import { isStoredMac, readStoredMac } from '../token/mac-generation.ts';
import type { Token } from '../token/token.ts';
import { hasEnded } from './states.ts';

/*
 * An attacker who can write to the state store must gain nothing by it. The authorisations in a row
 * are hashed into its scope, which the token's MAC of each secret covers: if the row is changed, no
 * secret verifies. The seal is a separate MAC over the scope and the salts and MACs in the row. It
 * protects operations without a secret, and distinguishes a changed row from a wrong secret. State
 * and counters change with each use, and are not covered.
 */

/** A seal and the data that it covers; null if there is none. */
export interface Seal {
  readonly scope: Uint8Array;
  /** Hash of the salts and MACs of the row. */
  readonly secrets: Uint8Array;
  readonly salt: Uint8Array | null;
  readonly mac: Uint8Array | null;
}

/** The fields of a key that never change. */
export type KeyFacts = Pick<
  KeyWithCertificate,
  | ('reference' | 'tenant' | 'key_id' | 'key_type' | 'protocol' | 'bound_digests' | 'subscriber_email' | 'subscriber_phone' | 'created_at')
  | ('der' | 'certificate_tenant' | 'authority' | 'issuing_chain')
>;

/** The fields of the key of a digital identity that never change. */
export type IdentityFacts = Pick<
  IdentityKeyRow,
  'reference' | 'tenant' | 'ca' | 'certificate_id' | 'key_id' | 'key_type' | 'public_key' | 'created_at'
>;

type KeySecrets = Pick<KeyRow, 'secret_salt' | 'secret_mac' | 'secret_stretched' | 'transaction_salt' | 'transaction_mac'>;

/**
 * Returns the scope of a key, 32 bytes: a hash of its authorisations. `isTied`: to a transaction.
 */
export function keyScope(key: KeyFacts, isTied: boolean): Uint8Array {
  return hashOf('key', [
    ...[key.reference, key.tenant, key.key_id, key.key_type, key.protocol, String(key.created_at)],
    ...[key.bound_digests, isTied ? 'transaction' : null, key.subscriber_email, key.subscriber_phone],
    ...[key.der, key.certificate_tenant, key.authority, key.issuing_chain],
  ]);
}

/** Returns the scope of the key of a digital identity, 32 bytes. */
export function identityScope(key: IdentityFacts): Uint8Array {
  return hashOf('identity', [
    ...[key.reference, key.tenant, key.ca, key.certificate_id, key.key_id, key.key_type, String(key.created_at)],
    key.public_key,
  ]);
}

/** What a one-time password or activation data is valid for. */
export type OtpFacts = Pick<OtpRow, 'otp_id' | 'action' | 'bound_digests' | 'expires_at' | 'signatures' | 'client' | 'ends_at'>;

/**
 * Returns the scope of a one-time password or of activation data, 32 bytes. Activation data ends with
 * the key's own secret that it was authorised by: `secretMac`, its MAC, or null for a key without.
 */
export function otpScope(scopeOfKey: Uint8Array, otp: OtpFacts, secretMac: Uint8Array | null): Uint8Array {
  const fields = [scopeOfKey, otp.otp_id, otp.action, otp.bound_digests, String(otp.expires_at)];
  if (otp.signatures === null) return hashOf('one-time password', fields);
  return hashOf('activation data', [...fields, String(otp.signatures), otp.client, String(otp.ends_at), secretMac]);
}

export function keySeal(row: KeyWithCertificate): Seal {
  return { scope: keyScope(row, row.transaction_mac !== null), secrets: keySecrets(row), salt: row.seal_salt, mac: row.seal_mac };
}

export function identitySeal(row: IdentityKeyRow): Seal {
  return { scope: identityScope(row), secrets: keySecrets({ ...row, ...noTransaction }), salt: row.seal_salt, mac: row.seal_mac };
}

export function isSameSeal(one: Seal, other: Seal): boolean {
  const [a, b] = [one, other].map(({ scope, secrets, salt, mac }) => hashOf('seal', [scope, secrets, salt, mac]));
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

type Macs = Pick<Token, 'makeMac'>;

export async function sealKey(token: Macs, id: KeyId, scope: Uint8Array, row: KeySecrets): Promise<Sealed> {
  return makeSeal(token, id, scope, keySecrets(row));
}

/** Seals the row of an identity's key again. */
export async function sealIdentityKey(token: Macs, row: IdentityKeyRow): Promise<Sealed> {
  return sealKey(token, parseKeyId(row.key_id), identityScope(row), { ...row, ...noTransaction });
}

export async function sealOtp(token: Macs, id: KeyId, scope: Uint8Array, row: Pick<OtpRow, 'salt' | 'mac'>): Promise<Sealed> {
  return makeSeal(token, id, scope, otpSecrets(row));
}

export async function sealPooled(token: Macs, id: KeyId, row: Omit<KeyPoolRow, keyof Sealed>): Promise<Sealed> {
  return makeSeal(token, id, pooledScope(row), none);
}

/** The key of a one-time password. */
interface OwnerOfOtp {
  readonly id: KeyId;
  readonly reference: string;
  readonly seal: Seal;
  readonly secret: { readonly mac: Uint8Array } | undefined;
}

/** Checks the seals of rows, and logs rows that are not as the service wrote them. */
export class Seals {
  readonly #token: Pick<Token, 'verifyProof'>;
  readonly #log: Logger | undefined;
  readonly #oldest: number;

  /** @param oldest number of the oldest MAC key that the service has */
  constructor(token: Pick<Token, 'verifyProof'>, log: Logger | undefined, oldest = 0) {
    this.#token = token;
    this.#log = log;
    this.#oldest = oldest;
  }

  /**
   * Returns the fault of a key's row, in words for an operator; undefined if there is none. The seal
   * of a key that has ended cannot be checked if its MAC key stayed on a former token: nothing can be
   * done with such a key.
   */
  async keyFault(row: KeyWithCertificate): Promise<string | undefined> {
    const { reference, tenant } = row;
    const isOfFormerToken = row.seal_mac !== null && readStoredMac(row.seal_mac).generation < this.#oldest;
    if (isOfFormerToken && hasEnded(row.state)) return undefined;
    const fault =
      row.seal_mac === null
        ? 'the row of the key has no seal: an earlier version made the key, or the seal was removed'
        : (await this.#holds(row.key_id, keySeal(row)))
          ? undefined
          : 'the row of the key, or of its certificate, is not as the service wrote it';
    return fault === undefined ? undefined : this.#told(fault, { key: reference, tenant });
  }

  /** Whether the row of a key is as the service wrote it. */
  async holdsKey(row: KeyWithCertificate): Promise<boolean> {
    return this.#holds(row.key_id, keySeal(row));
  }

  /** As `holdsKey`, for the key of an identity. */
  async holdsIdentity(row: IdentityKeyRow): Promise<boolean> {
    return this.#holds(row.key_id, identitySeal(row));
  }

  /** As `keyFault`, of the row of an identity's key. */
  async identityFault(row: IdentityKeyRow): Promise<string | undefined> {
    if (await this.#holds(row.key_id, identitySeal(row))) return undefined;
    const { reference, tenant } = row;
    return this.#told('the row of the key of a digital identity is not as the service wrote it', { key: reference, tenant });
  }

  /**
   * Notes, after a wrong secret, if the cause may be that the row of an open one-time password is
   * not as the service wrote it. The attempt counts anyway, since it may have been a guess. If none
   * is open, the seal of the key is checked instead, so that the time reveals nothing.
   */
  async noteOtpFault(key: OwnerOfOtp, otp: OtpRow | undefined): Promise<void> {
    const { scope } = key.seal;
    const secretMac = key.secret?.mac ?? null;
    const seal =
      otp === undefined
        ? key.seal
        : { scope: otpScope(scope, otp, secretMac), secrets: otpSecrets(otp), salt: otp.seal_salt, mac: otp.seal_mac };
    // The verdict on the secret stands, even if the token does not answer this.
    const holds = await this.#holds(key.id, seal).catch(() => true);
    if (holds || otp === undefined) return;
    noteTampering(this.#told('the row of the one-time password is not as the service wrote it', { key: key.reference }));
  }

  /**
   * Checks the chain that a key's certificate was issued under. `id`: its hash, which the key's
   * seal covers.
   * @throws {Refusal} ACTIVATION_FAILED
   */
  checkChain(id: string, der: Uint8Array | undefined): asserts der is Uint8Array {
    if (der !== undefined && hash('sha256', der) === id) return;
    throw tampered(this.#told('the issuing chain of a certificate is not as the service wrote it', { issuingChain: id }));
  }

  /** Checks whether the row of a pooled key is as the service wrote it. */
  async isPooledRight(row: KeyPoolRow): Promise<boolean> {
    const isRight = await this.#holds(row.key_id, { scope: pooledScope(row), secrets: none, salt: row.seal_salt, mac: row.seal_mac });
    if (!isRight) this.#told('the row of a pooled key is not as the service wrote it', { tokenId: row.key_id });
    return isRight;
  }

  async #holds(keyId: string, { scope, secrets, salt, mac }: Seal): Promise<boolean> {
    // A MAC of another length cannot be right, so the token is not asked.
    const id = idIn(keyId);
    if (id === undefined || salt?.length !== saltBytes || mac === null || !isStoredMac(mac)) return false;
    return (await this.#token.verifyProof(id, { anyOf: [{ kind: 'RECORD', salt, mac, secret: secrets, scope, signs: false }] })).verified;
  }

  #told(fault: string, fields: Readonly<Record<string, string>>): string {
    this.#log?.error(`the state store was changed: ${fault}`, fields);
    return fault;
  }
}

/**
 * Returns the same refusal as for a wrong secret; the audit record of the request gives the reason.
 */
export function tampered(fault: string): Refusal {
  noteTampering(fault);
  return new Refusal('ACTIVATION_FAILED');
}

const saltBytes = 16;
const none = new Uint8Array();
/** The key of an identity is not bound to a transaction. */
export const noTransaction = { transaction_salt: null, transaction_mac: null } as const;

async function makeSeal(token: Macs, id: KeyId, scope: Uint8Array, secrets: Uint8Array): Promise<Sealed> {
  const { salt, mac } = await token.makeMac(id, 'RECORD', secrets, scope);
  return { seal_salt: salt, seal_mac: mac };
}

function keySecrets(row: KeySecrets): Uint8Array {
  return hashOf('secrets', [row.secret_salt, row.secret_mac, String(row.secret_stretched), row.transaction_salt, row.transaction_mac]);
}

function otpSecrets({ salt, mac }: Pick<OtpRow, 'salt' | 'mac'>): Uint8Array {
  return hashOf('secrets of a one-time password', [salt, mac]);
}

function pooledScope(row: Omit<KeyPoolRow, keyof Sealed>): Uint8Array {
  return hashOf('key made ahead', [row.key_id, row.key_type, row.public_key, String(row.created_at)]);
}

function idIn(text: string): KeyId | undefined {
  try {
    return parseKeyId(text);
  } catch {
    return undefined;
  }
}

/**
 * Hashes a list of fields. Each field is encoded with its presence and length, and each kind of
 * list with its name and number of fields, so that no two lists have the same encoding.
 */
function hashOf(name: string, fields: readonly (string | Uint8Array | null)[]): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from(`signetd ${name} v1\0`)];
  for (const field of fields) {
    if (field === null) {
      parts.push(Buffer.of(0));
      continue;
    }
    const bytes = Buffer.from(field);
    const head = Buffer.alloc(5);
    head[0] = 1;
    head.writeUInt32BE(bytes.length, 1);
    parts.push(head, bytes);
  }
  return hash('sha256', Buffer.concat(parts), 'buffer');
}
