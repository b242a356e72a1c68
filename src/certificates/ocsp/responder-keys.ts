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

/** What ends the steps on the token that were begun: `Destruction` of the keys. */
export interface KeyUndoing {
  /** The key goes; its destruction is announced. */
  finish(id: KeyId): Promise<void>;
  /** A key whose creation came to nothing. */
  undoCreation(id: KeyId): Promise<void>;
}

/** What responders are made with. */
export interface ResponderTools {
  readonly store: StateStore;
  readonly token: Pick<Token, 'createKey' | 'signAsService' | 'listKeys' | 'random'>;
  readonly undoing: KeyUndoing;
  /** A responder's certificate is issued by the authority: that is recorded, and not done where it cannot be. */
  readonly audit: Pick<Audit, 'administer'>;
  readonly log: Logger;
}

/** A delegated responder that can sign now. */
export interface Responder extends ResponseSigner {
  readonly generation: number;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

const serialNumberBytes = 16;
const hourMs = 3_600_000;
/** The part of a certificate's life that is left when the next one is made. */
const overlap = 1 / 3;

/**
 * The delegated responder of an authority (RFC 6960 §2.6): key and certificate, and the next ones before they end. Instances that share a store share
 * them; the one that makes the next first makes it for all.
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

  /** Whose certificate is valid now. */
  get current(): Responder | undefined {
    return this.#current !== undefined && this.#current.notAfter.getTime() > this.#tools.store.now() ? this.#current : undefined;
  }

  /** Before the first one, and when the last third of its life has begun. */
  get isDue(): boolean {
    return this.#current === undefined || this.#isOld(this.#current);
  }

  /** Takes the newest responder that there is, or makes one where that is old. @throws {Error} where neither can be */
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
    // No certificate outlives the authority's own: a next one would not end later.
    if (notAfter >= this.#issuer.certificate.notAfter) return false;
    return this.#tools.store.now() >= notAfter.getTime() - (notAfter.getTime() - notBefore.getTime()) * overlap;
  }

  async #usable(rows: readonly OcspResponderRow[]): Promise<Responder | undefined> {
    const now = this.#tools.store.now();
    const valid = rows.filter((row) => row.not_before <= now && now < row.not_after);
    if (valid.length === 0) return undefined;
    const present = new Set<string>((await this.#tools.token.listKeys()).map(({ id }) => id));
    const row = valid.find(({ key_id: keyId }) => present.has(keyId) && keyPurpose(parseKeyId(keyId)) === 'ocsp');
    if (row !== valid[0]) {
      this.#tools.log.error('the key of the OCSP responder is not on the token, or has no purpose', {
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

  /** Recorded before anybody gets an answer that it signs. False where another instance was faster. */
  async #take(row: OcspResponderRow): Promise<boolean> {
    const entry = { kind: 'administration', request: randomUUID(), command: 'issue OCSP responder', authority: row.authority } as const;
    const digests = [`sha256:${createHash('sha256').update(row.der).digest('hex')}`];
    return this.#tools.audit.administer(entry, async () => {
      const value = await this.#tools.store.run('takeOcspResponder', row);
      return { value, said: value ? { digests } : { digests, fault: 'another instance was faster' } };
    });
  }

  /** Announced before it is made: a crash leaves no stray key. Undefined where another instance was faster; the next look finds that one's. */
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
        log.info('an OCSP responder was made', { authority, keyId: id, ends: notAfter.toISOString() });
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
