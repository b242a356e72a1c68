import { tenantId, type TenantId } from '../../clients/caller.ts';
import type { Config } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { IdentityKey } from '../../keys/identity-keys.ts';
import type { KeyReferenceId } from '../../keys/key-record.ts';
import type { Keyring } from '../../keys/keyring.ts';
import { Refusal } from '../../result-codes.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { maySignType, readDigitalIdentity, type DigitalIdentity } from './digital-identity.ts';

type Keys = Pick<Keyring, 'findIdentity'>;

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
