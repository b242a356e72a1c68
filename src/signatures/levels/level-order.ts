import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import type { OutgoingHttp } from '../../outgoing/outgoing-http.ts';
import { Refusal } from '../../result-codes.ts';
import type { OwnAuthority, RevocationSources, WantedData } from '../../revocation/revocation-data.ts';
import type { CheckedToken } from '../../timestamp/check-token.ts';
import { RequestRejected, type ImprintHash, type MessageImprint } from '../../timestamp/request.ts';
import type { TimeStampAuthority } from '../../timestamp/time-stamp-authority.ts';
import type { TimeStampClient } from '../../timestamp/time-stamp-client.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { AskedLevel, Tolerance } from './asked-level.ts';
import type { SignerChain } from '../format.ts';
import { checkSourcesNamed } from './known-sources.ts';
import { clientUrl, configuredAuthorities, timeStampAuthorities, wantedData, type ConfiguredServers } from './named-servers.ts';
import { checkSignerPath, signerCertificates, verifySignerChain } from './signer-path.ts';
import { alwaysVouched, vouchedBy, type Vouches } from './vouching.ts';

/** Services and settings for one signature above baseline B. */
export interface LevelOrder {
  readonly level: AskedLevel['level'];
  readonly stamp: (imprint: MessageImprint, signal: AbortSignal) => Promise<CheckedToken>;
  /** Hash of the message imprint. */
  readonly imprintHash: ImprintHash;
  readonly sources: RevocationSources;
  /** For signatures of strangers' certificates. */
  readonly threads: Pick<WorkThreads, 'run'>;
  readonly ofSigner: WantedData;
  readonly ofAuthorities: WantedData;
  /** Whose certificates may name servers: of the signer's chain, and of other authorities'. */
  readonly vouches: { readonly forSigner: Vouches; readonly forOthers: Vouches };
  /** Undefined: the status of every certificate must be good. */
  readonly tolerance?: Tolerance | undefined;
  readonly now: () => Date;
  /** Time limit for all requests to other servers. */
  readonly totalSeconds: number;
  /** Whether time-stamps may use SHA-1. */
  readonly allowSha1: boolean;
}

/** Services for levels above baseline B, under one configuration. */
export interface LevelServices {
  readonly http: OutgoingHttp;
  readonly threads: Pick<WorkThreads, 'run'>;
  readonly timeStamps: TimeStampClient;
  readonly revocation: RevocationSources;
  /** Returns the service's own revocation data for an issuer's certificates. */
  readonly ownAuthority: (issuer: PathCertificate) => OwnAuthority | undefined;
  /** Addresses for URLSource SERVER. */
  readonly server: ConfiguredServers;
  /** Returns the authorities whose certificates, and those below them, may name servers. */
  readonly namingAnchors: () => readonly PathCertificate[];
  /** Returns the trust anchors of time-stamp authorities and intermediate certificates. */
  readonly timeStampTrust: () => { readonly anchors: readonly PathCertificate[]; readonly intermediates: readonly PathCertificate[] };
  /** Time limit for all requests to other servers on behalf of one caller's request. */
  readonly totalSeconds: number;
}

/** Rules for the callers of one tenant. */
export interface TenantRules {
  /** Whether the chains of authorities that a caller names may end in any root. */
  readonly anyRoot: boolean;
  /** Whether time-stamps may use SHA-1. */
  readonly allowSha1: boolean;
}

/** Levels above baseline B for the callers of one tenant. */
export class Levels {
  readonly #services: LevelServices;
  readonly #rules: TenantRules;

  constructor(services: LevelServices, rules: TenantRules) {
    this.#services = services;
    this.#rules = rules;
  }

  /**
   * Checks whether the service may connect to a URL from a caller. `at`: JSON Pointer of the field.
   * @throws {Refusal} FIELD_INVALID, UNSUPPORTED
   */
  checkUrl(text: string, at: string): void {
    clientUrl(text, this.#services.http, at);
  }

  /**
   * Returns the services and settings with which the requested level is reached for this signer.
   * Sends no requests yet.
   * @throws {Refusal} TIMESTAMP_UNAVAILABLE if no authority is known that may be asked; UNSUPPORTED for a host that
   * is not (or no longer) allowed
   */
  order(asked: AskedLevel, signer: SignerChain): LevelOrder {
    return levelOrder(asked, signer, this.#services, this.#rules);
  }

  /** Whether there are time-stamp authorities in the configuration (URLSource SERVER). */
  get hasAuthorities(): boolean {
    return this.#services.server.authorities().length > 0;
  }

  /**
   * Returns a time-stamp of a hash from the authorities of the configuration (URLSource SERVER).
   * `nonce`: the number that it repeats; default: a random one.
   * @throws {Refusal} TIMESTAMP_UNAVAILABLE, TIMESTAMP_INVALID
   */
  async stampHash(imprint: MessageImprint, nonce?: Uint8Array): Promise<CheckedToken> {
    const { timeStamps, timeStampTrust, totalSeconds, server } = this.#services;
    const { allowSha1 } = this.#rules;
    return timeStamps.stamp(imprint, {
      authorities: configuredAuthorities(server),
      nonce: nonce ?? true,
      trust: { ...timeStampTrust(), anyRoot: false, allowSha1 },
      signal: AbortSignal.timeout(totalSeconds * 1000),
    });
  }

  /**
   * Checks everything that can be checked before a secret or a device is used. `hash`: hash
   * algorithm of the signature.
   * @throws {Refusal} TIMESTAMP_UNAVAILABLE, REVOCATION_UNAVAILABLE if no source is known;
   * CERTIFICATE_STATUS_REFUSED, FIELDS_INCONSISTENT for the signer's chain; UNSUPPORTED
   */
  async check(asked: AskedLevel, signer: SignerChain, { hash }: { readonly hash: HashName }): Promise<void> {
    // Whether the chain is vouched for depends on its signatures too.
    await verifySignerChain(signer, this.#services.threads);
    const { ofSigner, ofAuthorities, vouches } = this.order(asked, signer);
    checkSignerPath(signer, new Date());
    const { ownAuthority, http } = this.#services;
    const { level, tolerance } = asked;
    if (level !== 'T' && tolerance?.cancelOnError !== false) {
      const fields = tolerance === undefined ? longTermFields : revocationDataFields;
      const certificates = signerCertificates(signer);
      checkSourcesNamed({ certificates, ofSigner, ofAuthorities, ownAuthority, fields, http, vouches: vouches.forSigner });
    }
    const rules = { ...this.#services, vouches: vouches.forSigner };
    const { authorities } = timeStampAuthorities(asked.timeStamp.addresses, signer, rules);
    const imprintHashes = [asked.timeStamp.hash, ...(asked.level === 'LTA' ? [hash] : [])];
    for (const authority of authorities) {
      // A remote authority may support what the service's own does not.
      if (authority instanceof URL) return;
      for (const one of imprintHashes) checkSupported(authority, one, asked.timeStamp.policy);
    }
  }
}

const longTermFields = { ofSigner: 'signerRevocationDataSource', ofAuthorities: 'authoritiesRevocationDataSource' } as const;
const revocationDataFields = {
  ofSigner: 'revocationData.signerCertificate',
  ofAuthorities: 'revocationData.authorityCertificates',
} as const;

/** Asks the service's own authority, without HTTP. @throws {Refusal} TIMESTAMP_UNAVAILABLE */
function checkSupported(authority: TimeStampAuthority, hash: ImprintHash, policy: string | undefined): void {
  try {
    authority.checkOffered(hash, policy);
  } catch (error) {
    if (!(error instanceof RequestRejected)) throw error;
    throw new Refusal('TIMESTAMP_UNAVAILABLE', {
      message: `the time-stamp authority of this service: ${error.failure}: ${error.message}`,
      cause: error,
    });
  }
}

function levelOrder(
  { level, timeStamp, ofSigner, ofAuthorities, tolerance }: AskedLevel,
  signer: SignerChain,
  services: LevelServices,
  { anyRoot, allowSha1 }: TenantRules,
): LevelOrder {
  const { timeStamps, revocation, threads, timeStampTrust, totalSeconds } = services;
  const { addresses, hash, policy, nonce, credentials, recovery } = timeStamp;
  const forOthers = vouchedBy(services.namingAnchors);
  const vouches = { forSigner: signer.isOwn === true ? alwaysVouched : forOthers, forOthers };
  const { authorities, areCallersChoice } = timeStampAuthorities(addresses, signer, { ...services, vouches: vouches.forSigner });
  const trust = { ...timeStampTrust(), anyRoot: anyRoot && addresses.source === 'CLIENT', allowSha1 };
  return {
    level,
    stamp: async (imprint, signal) =>
      timeStamps.stamp(imprint, { authorities, hidesFailures: areCallersChoice, policy, nonce, credentials, recovery, trust, signal }),
    imprintHash: hash,
    sources: revocation,
    threads,
    ofSigner: wantedData(ofSigner, services),
    ofAuthorities: wantedData(ofAuthorities, services),
    vouches,
    tolerance,
    now: () => new Date(),
    totalSeconds,
    allowSha1,
  };
}
