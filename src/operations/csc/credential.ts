import { chainFor } from '../../certificates/chains.ts';
import { parseKeyReferenceId, standingOf, type KeyRecord, type KeyReferenceId } from '../../keys/key-record.ts';
import { hasEnded, type KeyState } from '../../keys/states.ts';
import { Refusal } from '../../result-codes.ts';
import type { Context } from '../operation.ts';

type Named = Pick<Context, 'config' | 'caller'>;

/** Returns the names that the operator gave the tenant's keys, by reference. */
export function credentialNames({ config, caller }: Named): ReadonlyMap<string, string> {
  const names = config.tenants[caller.tenant]?.credentialNames ?? {};
  return new Map(Object.entries(names).map(([name, reference]) => [reference.toLowerCase(), name]));
}

/** Returns the reference that a credentialID stands for. @throws {Refusal} KEY_UNKNOWN */
function referenceOf(credentialID: string, { config, caller }: Named): KeyReferenceId {
  const names = config.tenants[caller.tenant]?.credentialNames ?? {};
  const reference = Object.hasOwn(names, credentialID) ? names[credentialID] : credentialID;
  try {
    return parseKeyReferenceId(reference ?? '');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Refusal('KEY_UNKNOWN', { cause: error });
  }
}

/**
 * Finds the key of a credential, and names it in the audit record.
 * @throws {Refusal} KEY_UNKNOWN, also for the key of a digital identity, which signs only data zones
 */
export async function credentialKey(credentialID: string, context: Context): Promise<KeyRecord> {
  const { caller, keys, identities, audit } = context;
  const reference = referenceOf(credentialID, context);
  audit.key = reference;
  if (identities.findByReference(caller.tenant, reference) !== undefined) throw new Refusal('KEY_UNKNOWN');
  return keys.findAtOnce(caller.tenant, reference) ?? (await keys.find(caller.tenant, reference));
}

/** The certificates of a credential: that of the key, then those of its issuers. */
export function credentialChain(key: KeyRecord, { authorities }: Pick<Context, 'authorities'>): readonly Uint8Array[] {
  return [key.certificate.der, ...chainFor(key.issuers, authorities.get(key.authority), undefined)];
}

/** The state of the key, as the standard's words for keys and certificates have it. */
export interface CredentialStatus {
  readonly key: 'enabled' | 'disabled';
  readonly certificate: 'valid' | 'expired' | 'revoked' | 'suspended';
}

const statusOf: Readonly<Record<KeyState, CredentialStatus>> = {
  ACTIVE: { key: 'enabled', certificate: 'valid' },
  LOCKED: { key: 'disabled', certificate: 'valid' },
  CONSUMED: { key: 'disabled', certificate: 'valid' },
  REMOVED: { key: 'disabled', certificate: 'valid' },
  LEFT_BEHIND: { key: 'disabled', certificate: 'valid' },
  EXPIRED: { key: 'disabled', certificate: 'expired' },
  REVOKED: { key: 'disabled', certificate: 'revoked' },
  ON_HOLD: { key: 'disabled', certificate: 'suspended' },
};

export function credentialStatus(key: KeyRecord, { keys }: Pick<Context, 'keys'>): CredentialStatus {
  return statusOf[standingOf(key, keys.now()).state];
}

/** How the signatures of a credential are authorised. */
export interface Authorisation {
  /** Whether the key has a secret of its own, which is the PIN. */
  readonly pin: boolean;
  /** Whether a one-time password can be sent for it. */
  readonly otp: boolean;
}

/** Returns which secrets authorise signatures: any one of them is enough. */
export function authorisationOf(key: KeyRecord, { deliver, messages }: Pick<Context, 'deliver' | 'messages'>): Authorisation {
  const reaches = deliver !== undefined && messages.reaches(key.subscriber);
  return { pin: key.protocol !== 'OTP', otp: key.protocol === 'OTP' || (key.protocol === 'PASSWORD' && reaches) };
}

/** The most signatures of one authorisation. */
export function signaturesMax({ config }: Pick<Context, 'config'>): number {
  return config.limits.documentsMax;
}

/** The states in which a key has its private key. */
export function isListed({ state }: { readonly state: string }): boolean {
  return !hasEnded(state);
}
