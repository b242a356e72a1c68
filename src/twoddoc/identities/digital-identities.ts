import { tenantId, type TenantId } from '../../clients/caller.ts';
import type { Config } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { passwordBytes, type Credentials } from '../../keys/credentials.ts';
import type { IdentityKey } from '../../keys/identity-keys.ts';
import type { KeyReferenceId } from '../../keys/key-record.ts';
import type { Keyring } from '../../keys/keyring.ts';
import { Refusal } from '../../result-codes.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { maxZoneBytes } from '../../token/wire/sign-message.ts';
import { zoneVerifies } from '../code/code.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { maySignType, readDigitalIdentity, type DigitalIdentity } from './digital-identity.ts';

/** Leaves room for lengths and proofs in a message to the token host. */
const zonesMaxBytes = 900 * 1024;

type Keys = Pick<Keyring, 'findIdentity' | 'signZones'>;

/** Makes the caller's answer from the signature values: r‖s, at the width of the curve. */
type Complete<T extends object> = (values: readonly Uint8Array[]) => Promise<T>;

/** The digital identities of one configuration. */
export class DigitalIdentities {
  readonly #keys: Keys;
  readonly #byTenant: ReadonlyMap<TenantId, readonly DigitalIdentity[]>;

  /** @throws {ConfigError} naming each identity whose certificate cannot be used */
  constructor(tenants: Config['tenants'], keys: Keys) {
    this.#keys = keys;
    const faults: string[] = [];
    const read = Object.entries(tenants).map(([name, { twoDDoc }]) => {
      const tenant = tenantId(name);
      const identities = twoDDoc.identities.flatMap((config, index) => {
        try {
          return [readDigitalIdentity(tenant, config)];
        } catch (error) {
          faults.push(`tenants.${name}.twoDDoc.identities.${index}: ${reasonOf(error)}`);
          return [];
        }
      });
      return [tenant, identities] as const;
    });
    if (faults.length > 0) throw new ConfigError(faults.join('\n'));
    this.#byTenant = new Map(read);
  }

  /** All identities of all tenants. */
  get all(): readonly DigitalIdentity[] {
    return [...this.#byTenant.values()].flat();
  }

  /** Finds the identity with the identifiers of a zone's header. */
  find(tenant: TenantId, ca: string, certificateId: string): DigitalIdentity | undefined {
    return this.#of(tenant).find((identity) => identity.ca === ca && identity.certificateId === certificateId);
  }

  /** Finds an identity by the SHA-1 of its certificate. */
  findByReference(tenant: TenantId, reference: KeyReferenceId): DigitalIdentity | undefined {
    return this.#of(tenant).find((identity) => identity.reference === reference);
  }

  /** Returns the identities that may sign documents of a type. */
  forType(tenant: TenantId, type: string): readonly DigitalIdentity[] {
    return this.#of(tenant).filter((identity) => maySignType(identity, type));
  }

  /**
   * Returns the key of an identity, with its counters.
   * @throws {Refusal} KEY_STATE if the state store has no key for it, or one that does not match
   *   the certificate; ACTIVATION_FAILED if the row of the key is not as the service wrote it
   */
  async keyOf(identity: DigitalIdentity): Promise<IdentityKey> {
    const key = await this.#keys.findIdentity(identity);
    if (key === undefined) throw new Refusal('KEY_STATE', { message: 'the digital identity has no key in the state store' });
    if (Buffer.compare(key.publicKeyInfo, identity.certificate.subjectPublicKeyInfo) !== 0)
      throw new Refusal('KEY_STATE', { message: 'the certificate of the digital identity does not match its key' });
    key.expiresAt = identity.certificate.notAfter.getTime();
    return key;
  }

  /**
   * Signs data zones with an identity after its password is verified, and has `complete` make the
   * result from the values. Attempts are counted as those on callers' keys. Whether the identity
   * may sign these headers is for the caller to decide (`headerFault`).
   * @param zones the exact bytes of each: header and message (ANTS, 2D-Doc v3.2.6, §3.5)
   * @throws {Refusal} as `keyOf`; KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED; FIELD_MISSING without a
   *   password
   * @throws {TwoDDocFault} if a zone is longer than any symbol could hold
   * @throws {Error} if the token host sees no zone of version 02, 03 or 04 in one of them, or a
   *   value does not verify
   */
  async sign<T extends object>(
    identity: DigitalIdentity,
    { password, transactionId }: Pick<Credentials, 'password' | 'transactionId'>,
    zones: readonly Uint8Array[],
    complete: Complete<T>,
  ): Promise<T> {
    const key = await this.keyOf(identity);
    if (password === undefined)
      throw new Refusal('FIELD_MISSING', { message: 'the key of a digital identity is activated by its password, which is required' });
    checkLengths(zones);
    const given = { member: 'password', bytes: passwordBytes(password), transactionId } as const;
    const { algorithm, publicKey } = identity;
    return this.#keys.signZones(key, given, { algorithm, zones }, async (values) => {
      const areRight = zones.every((zone, index) => zoneVerifies(zone, values[index] ?? new Uint8Array(), algorithm, publicKey));
      if (!areRight) throw new Error(`a signature of the identity ${identity.ca} ${identity.certificateId} does not verify`);
      return complete(values);
    });
  }

  /**
   * Returns why identities have no usable key, one line each: for an operator, before the
   * configuration comes into force.
   */
  async keyFaults(): Promise<readonly string[]> {
    const faults = this.all.map(async (identity) => {
      const index = this.#of(identity.tenant).indexOf(identity);
      try {
        await this.keyOf(identity);
        return [];
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const reason = error.code === 'KEY_STATE' ? error.text : 'the row of its key in the state store was changed';
        return [`tenants.${identity.tenant}.twoDDoc.identities.${index}: ${reason}`];
      }
    });
    return (await Promise.all(faults)).flat();
  }

  #of(tenant: TenantId): readonly DigitalIdentity[] {
    return this.#byTenant.get(tenant) ?? [];
  }
}

/**
 * Checks that the zones fit into one message to the token host.
 * @throws {TwoDDocFault}
 * @throws {Refusal} UNSUPPORTED
 */
function checkLengths(zones: readonly Uint8Array[]): void {
  if (zones.some(({ length }) => length > maxZoneBytes))
    throw new TwoDDocFault(`a zone has more than ${maxZoneBytes} characters, several times what the largest symbol holds`);
  const bytes = zones.reduce((sum, { length }) => sum + length, 0);
  if (bytes > zonesMaxBytes)
    throw new Refusal('UNSUPPORTED', { message: `the zones of a request have at most ${zonesMaxBytes} characters together` });
}
