import { createHash, randomUUID } from 'node:crypto';
import type { Audit } from '../../audit/audit.ts';
import type { OcspConfig } from '../../config/authority-config.ts';
import type { StateStore } from '../../state/state-store.ts';
import type { OcspResponderRow } from '../../state/tables/revocation.ts';
import type { Logger } from '../../telemetry/log.ts';
import { keyPurpose, newKeyId, parseKeyId, type KeyId } from '../../token/key-id.ts';
import type { Token } from '../../token/token.ts';
import { tokenSigner } from '../configured-authority.ts';
import type { CertificateIssuer } from '../issue.ts';
import { readCertificate } from '../../x509/certificate.ts';
import type { ResponseSigner } from './ocsp-response.ts';
import { responderCertificate } from './responder-certificate.ts';

/** Completes or undoes steps begun on the token; implemented by `Destruction` in the keys room. */
export interface KeyUndoing {
  /** Destroys a key whose destruction is recorded. */
  finish(id: KeyId): Promise<void>;
  /** Removes a key whose creation failed. */
  undoCreation(id: KeyId): Promise<void>;
}

/** Services that responders need. */
export interface ResponderTools {
  readonly store: StateStore;
  readonly token: Pick<Token, 'createKey' | 'signAsService' | 'findKeys' | 'random'>;
  readonly undoing: KeyUndoing;
  /**
   * The issue of a responder's certificate is recorded; if it cannot be, no certificate is used.
   */
  readonly audit: Pick<Audit, 'administer'>;
  readonly log: Logger;
}

/** A delegated responder that is ready to sign. */
export interface Responder extends ResponseSigner {
  readonly generation: number;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const serialNumberBytes = 16;
const hourMs = 3_600_000;
/** Share of a certificate's lifetime that is left when the next one is created. */
const overlap = 1 / 3;

/**
 * Key and certificate of an authority's delegated responder (RFC 6960 §2.6), renewed before they
 * expire. Instances on one store share them; the first to renew does so for all.
 */
export class ResponderKeys {
  readonly #tools: ResponderTools;
  readonly #authority: string;
  readonly #issuer: CertificateIssuer;
  readonly #signer: string;
  readonly #config: Pick<OcspConfig, 'keyType' | 'certificateHours'>;
  #current: Responder | undefined;

  constructor(
    tools: ResponderTools,
    authority: string,
    { issuer, config }: { readonly issuer: CertificateIssuer; readonly config: Pick<OcspConfig, 'keyType' | 'certificateHours'> },
  ) {
    this.#tools = tools;
    this.#authority = authority;
    this.#issuer = issuer;
    this.#config = config;
    this.#signer = createHash('sha256').update(issuer.certificate.subjectPublicKeyInfo).digest('hex');
  }

  /** The responder, if its certificate is still valid. */
  get current(): Responder | undefined {
    return this.#current !== undefined && this.#current.notAfter.getTime() > this.#tools.store.now() ? this.#current : undefined;
  }

  /** True if there is no responder yet, or the last third of its lifetime has begun. */
  get isDue(): boolean {
    return this.#current === undefined || this.#isOld(this.#current);
  }

  /**
   * Takes the newest responder in the store, or creates one if that is old.
   * @throws {Error} if neither is possible
   */
  async renew(): Promise<void> {
    const { store } = this.#tools;
    const rows = await store.run('ocspResponders', { authority: this.#authority, signer: this.#signer });
    const newest = await this.#usable(rows);
    if (newest !== undefined) {
      this.#current = newest;
      if (!this.#isOld(newest)) return;
    }
    const generation = (rows[0]?.generation ?? 0) + 1;
    this.#current = (await this.#make(generation)) ?? this.#current;
  }

  #isOld({ notBefore, notAfter }: Responder): boolean {
    // No certificate outlasts the authority's own, so a new one would not expire later.
    if (notAfter >= this.#issuer.certificate.notAfter) return false;
    return this.#tools.store.now() >= notAfter.getTime() - (notAfter.getTime() - notBefore.getTime()) * overlap;
  }

  async #usable(rows: readonly OcspResponderRow[]): Promise<Responder | undefined> {
    const now = this.#tools.store.now();
    const valid = rows.filter((row) => row.not_before <= now && now < row.not_after);
    if (valid.length === 0) return undefined;
    const present = await this.#tools.token.findKeys(valid.map(({ key_id: keyId }) => parseKeyId(keyId)));
    const row = valid.find(({ key_id: keyId }) => present.has(parseKeyId(keyId)) && keyPurpose(parseKeyId(keyId)) === 'ocsp');
    if (row !== valid[0]) {
      this.#tools.log.error('the key of the OCSP responder is not on the token or has no purpose', {
        authority: this.#authority,
        keyId: valid[0]?.key_id,
      });
    }
    return row === undefined ? undefined : this.#responder(row);
  }

  #responder({ generation, key_id: keyId, der }: OcspResponderRow): Responder {
    const { subjectPublicKeyInfo, notBefore, notAfter } = readCertificate(der);
    const signer = tokenSigner(this.#tools.token, parseKeyId(keyId), subjectPublicKeyInfo);
    return { ...signer, subjectPublicKeyInfo, certificate: der, generation, notBefore, notAfter };
  }

  /**
   * Records the responder before it signs any response. Returns false if another instance was
   * faster.
   */
  async #take(row: OcspResponderRow): Promise<boolean> {
    const entry = { kind: 'administration', request: randomUUID(), command: 'issue OCSP responder', authority: row.authority } as const;
    const digests = [`sha256:${createHash('sha256').update(row.der).digest('hex')}`];
    return this.#tools.audit.administer(entry, async () => {
      const value = await this.#tools.store.run('takeOcspResponder', row);
      return { value, said: value ? { digests } : { digests, fault: 'another instance was faster' } };
    });
  }

  /**
   * Creates a responder. The key is recorded first, so that a crash leaves no stray key. Returns
   * undefined if another instance was faster; its responder is found later.
   */
  async #make(generation: number): Promise<Responder | undefined> {
    const { store, token, undoing, log } = this.#tools;
    const authority = this.#authority;
    const id = newKeyId('ocsp');
    await store.run('announce', { key_id: id, intent: 'CREATE', created_at: store.now() });
    try {
      const subjectPublicKeyInfo = await token.createKey(id, this.#config.keyType);
      const der = await responderCertificate(this.#issuer, {
        authority,
        subjectPublicKeyInfo,
        serialNumber: await token.random(serialNumberBytes),
        now: store.now(),
        lifetimeMs: this.#config.certificateHours * hourMs,
      });
      const { notBefore, notAfter } = readCertificate(der);
      const times = { not_before: notBefore.getTime(), not_after: notAfter.getTime() };
      const row = { authority, signer: this.#signer, generation, key_id: id, der, ...times };
      if (await this.#take(row)) {
        log.info('an OCSP responder was created', { authority, keyId: id, ends: notAfter.toISOString() });
        return this.#responder(row);
      }
    } catch (error) {
      await undoing.undoCreation(id);
      throw error;
    }
    await undoing.undoCreation(id);
    return undefined;
  }
}
