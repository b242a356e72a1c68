import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { StateStore } from '../../state/state-store.ts';
import type { CrlClaim } from '../../state/repositories/crls.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { CertificateIssuer } from '../issue.ts';
import { certificateList } from './certificate-list.ts';
import { KeySuccession } from './key-succession.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

/** Settings for the CRLs of an authority. */
export interface CrlSettings {
  /** From thisUpdate to nextUpdate. */
  readonly lifetimeSeconds: number;
  /** A new CRL is issued this long before nextUpdate of the old one. */
  readonly renewBeforeSeconds: number;
  /** Expired certificates stay on the list. */
  readonly keepExpired: boolean;
  /** The authority has issued its last CRL: no other follows. */
  readonly isFinal?: boolean;
}

/** The CRL that is currently served. */
export interface PublishedCrl {
  readonly der: Uint8Array;
  readonly number: number;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** SHA-256 of the DER, base64url. */
  readonly digest: string;
}

/** Minimum time between two CRLs; revocations within it share one. */
const minGapMs = 1000;
/**
 * Minimum age of a CRL when it is first served. A validator's clock may be a few milliseconds
 * behind: time(2) returns the time of the last tick.
 */
const sinceFullSecondMs = 50;
const tickMs = 1000;
/** How long a request for a newer CRL waits, and how often it polls. */
const newerWithinMs = 10_000;
const newerLookMs = 100;
/** Far more than issuing takes. Two CRLs at once do no harm: the later number is served. */
const claimMs = 10_000;
/** How long a request waits for a CRL that is due: the minimum gap, and time to issue it. */
const latestWaitMs = 3 * minGapMs;

/**
 * Issues an authority's CRLs: on every revocation, at most one a second, and before the old one
 * expires. Several instances on one store share the work and use the store's clock; each serves
 * what another has published within two seconds.
 */
export class CrlPublisher {
  readonly #store: StateStore;
  readonly #authority: string;
  #issuer: CertificateIssuer;
  #settings: CrlSettings;
  readonly #log: Logger;
  readonly #keys: KeySuccession;
  #published: PublishedCrl | undefined;
  #isPending = true;
  /** Milliseconds since epoch; a waiting request needs a CRL at least this recent. */
  #wantedSince = 0;
  readonly #waiting = new Set<() => void>();
  #running: Promise<void> | undefined;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #hasStopped = false;

  constructor(
    store: StateStore,
    authority: string,
    issuer: CertificateIssuer,
    { settings, log, waitForNewerKeyMs }: { settings: CrlSettings; log: Logger; waitForNewerKeyMs?: number },
  ) {
    this.#store = store;
    this.#authority = authority;
    this.#issuer = issuer;
    this.#settings = settings;
    this.#log = log;
    this.#keys = new KeySuccession(issuer.certificate, waitForNewerKeyMs);
  }

  /** Absent until the first one is issued. */
  get published(): PublishedCrl | undefined {
    return this.#published;
  }

  /**
   * Returns a CRL with every revocation that this instance has committed, so that a caller who was
   * told that a certificate is revoked finds it there. Returns the previous CRL if the next one
   * cannot be issued or takes too long.
   */
  async latest(): Promise<PublishedCrl | undefined> {
    if (this.#isBehind || this.#running !== undefined) {
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(end);
          resolve();
        };
        const timer = setTimeout(end, latestWaitMs).unref();
        this.#waiting.add(end);
      });
    }
    return this.#published;
  }

  /**
   * Serves what an earlier run published, issues what is due, and keeps doing so. A CRL that cannot
   * be issued is retried each second.
   */
  async start(): Promise<void> {
    await this.#tick();
    if (this.#hasStopped) return;
    this.#timer = setInterval(() => void this.#tick(), tickMs).unref();
  }

  /** Replaces the configuration. */
  use(issuer: CertificateIssuer, settings: CrlSettings): void {
    this.#issuer = issuer;
    this.#settings = settings;
    this.#keys.use(issuer.certificate);
    this.changed();
  }

  /** Notifies of a committed revocation: the next CRL is due. */
  changed(): void {
    this.#isPending = true;
    const wait = (this.#published?.thisUpdate.getTime() ?? 0) + minGapMs - this.#store.now();
    this.#soon ??= setTimeout(
      () => {
        this.#soon = undefined;
        void this.#tick();
      },
      Math.max(wait, 0),
    ).unref();
  }

  /**
   * Returns a CRL made at `time` or later, and issues one if the last is older: validators reject a
   * CRL that predates the certificate. Undefined if none can be issued in time.
   */
  async madeSince(time: Date): Promise<PublishedCrl | undefined> {
    const since = time.getTime();
    for (const until = this.#store.now() + newerWithinMs; ; await delay(newerLookMs)) {
      if (this.#published !== undefined && this.#published.thisUpdate.getTime() >= since) return this.#published;
      if (this.#settings.isFinal === true || this.#store.now() >= until) return undefined;
      this.#wantedSince = Math.max(this.#wantedSince, since);
      this.#isPending = true;
      await this.#tick();
    }
  }

  /** Waits for the CRL that is being issued; afterwards none is. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    await this.#running;
  }

  async #tick(): Promise<void> {
    if (this.#hasStopped) return this.#running;
    this.#running ??= this.#look().finally(() => {
      this.#running = undefined;
      if (!this.#isBehind) for (const end of this.#waiting) end();
    });
    return this.#running;
  }

  async #look(): Promise<void> {
    const now = this.#store.now();
    if (!this.#store.isShared && !this.#isPending && now < this.#renewAt) return;
    const madeSince = this.#wantedSince;
    this.#wantedSince = 0;
    try {
      this.#isPending = false;
      const state = await this.#store.run('crlState', this.#authority);
      if (state !== undefined && state.published_number > (this.#published?.number ?? 0)) await this.#load();
      if (this.#settings.isFinal === true) {
        this.#checkFinal();
        this.#failures = 0;
        return;
      }
      const isOlder = state !== undefined && this.#keys.isOlderThan(state);
      const isDue =
        state === undefined ||
        state.published_revision < state.revision ||
        (state.signer !== this.#keys.signer && !isOlder) ||
        state.this_update < madeSince ||
        now >= this.#renewAt;
      const ignoreNewer = isDue && isOlder && this.#keys.isLeftAlone(state, now);
      if (isDue && !(await this.#issueNext(madeSince, ignoreNewer))) this.#isPending = true;
      this.#failures = 0;
    } catch (error) {
      this.#isPending = true;
      this.#failures += 1;
      if (this.#failures === 1) {
        const reason = reasonOf(error);
        this.#log.error('a CRL could not be issued; retrying each second', { authority: this.#authority, reason });
      }
    }
  }

  /** @throws {Error} if there is no CRL to serve */
  #checkFinal(): void {
    if (this.#published === undefined)
      throw new Error('it is retired, but its last CRL is not in the state store: make it with signetctl ca retire');
  }

  get #isBehind(): boolean {
    return this.#isPending && this.#failures === 0;
  }

  get #renewAt(): number {
    if (this.#settings.isFinal === true && this.#published !== undefined) return Infinity;
    return (this.#published?.nextUpdate.getTime() ?? 0) - this.#settings.renewBeforeSeconds * 1000;
  }

  /** Returns false if another instance is issuing it, or the last one is less than a second old. */
  async #issueNext(madeSince: number, ignoreNewer: boolean): Promise<boolean> {
    await delay(Math.max(0, sinceFullSecondMs - (this.#store.now() % 1000)));
    const now = this.#store.now();
    const { keepExpired, renewBeforeSeconds } = this.#settings;
    const claim = await this.#store.run('claimCrl', {
      authority: this.#authority,
      now,
      claimedUntil: now + claimMs,
      ignoreClaim: !this.#store.isShared,
      minGapMs,
      endsBefore: now + renewBeforeSeconds * 1000,
      madeSince,
      signer: this.#keys.signer,
      signerSince: this.#keys.signerSince,
      ignoreNewer,
      keepExpired,
    });
    if (claim === undefined) return false;
    try {
      await this.#issue(claim, new Date(Math.floor(now / 1000) * 1000));
      return true;
    } catch (error) {
      // If this fails too, the claim times out.
      await this.#store.run('giveUpCrl', { authority: this.#authority, number: claim.number }).catch(() => undefined);
      throw error;
    }
  }

  async #issue({ number, revision, revoked }: CrlClaim, thisUpdate: Date): Promise<void> {
    const { certificate, signatureAlgorithm } = this.#issuer;
    const nextUpdate = new Date(thisUpdate.getTime() + this.#settings.lifetimeSeconds * 1000);
    const { subject: name, subjectPublicKeyInfo, subjectKeyIdentifier } = certificate;
    const der = await certificateList(
      { name, subjectPublicKeyInfo, subjectKeyIdentifier, signatureAlgorithm, sign: async (tbs) => this.#issuer.sign(tbs) },
      { number, thisUpdate, nextUpdate, revoked, ...(this.#settings.keepExpired ? { expiredFrom: certificate.notBefore } : {}) },
    );
    const isServed = await this.#store.run('publishCrl', {
      authority: this.#authority,
      number,
      der,
      signer: this.#keys.signer,
      signer_since: this.#keys.signerSince,
      published_revision: revision,
      this_update: thisUpdate.getTime(),
      next_update: nextUpdate.getTime(),
    });
    if (isServed) this.#published = published(der, number, thisUpdate, nextUpdate);
    this.#log.info('a CRL was issued', { authority: this.#authority, number, entries: revoked.count });
  }

  async #load(): Promise<void> {
    const row = await this.#store.run('publishedCrl', this.#authority);
    if (row === undefined) return;
    this.#published = published(row.der, row.published_number, new Date(row.this_update), new Date(row.next_update));
  }
}

function published(der: Uint8Array, number: number, thisUpdate: Date, nextUpdate: Date): PublishedCrl {
  return { der, number, thisUpdate, nextUpdate, digest: createHash('sha256').update(der).digest('base64url') };
}
