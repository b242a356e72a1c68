import { timeStampUrlOf } from '../../certificates/time-stamp-url.ts';
import type { PathCertificate } from '../../x509/path/path-certificate.ts';
import type { OutgoingHttp } from '../../outgoing/outgoing-http.ts';
import { httpUrl, UrlRefused } from '../../outgoing/url-rules.ts';
import { Refusal } from '../../result-codes.ts';
import type { DataSource, OwnAuthority, RevocationSources, WantedData } from '../../revocation/revocation-data.ts';
import type { CheckedToken } from '../../timestamp/check-token.ts';
import { RequestRejected, type ImprintHash, type MessageImprint } from '../../timestamp/request.ts';
import type { TimeStampAuthority } from '../../timestamp/time-stamp-authority.ts';
import type { AuthorityAddress, TimeStampClient } from '../../timestamp/time-stamp-client.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { Addresses, AskedLevel, StatusData, Tolerance } from './asked-level.ts';
import type { SignerChain } from '../format.ts';
import { checkSourcesNamed } from './known-sources.ts';
import { checkSignerPath, signerCertificates, verifySignerChain } from './signer-path.ts';

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
  readonly server: {
    readonly authorities: () => readonly AuthorityAddress[];
    readonly crlUrls: readonly URL[];
    readonly ocspUrls: readonly URL[];
  };
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
   * @throws {Refusal} TIMESTAMP_UNAVAILABLE if no authority is known; UNSUPPORTED for a host that
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
    const { ofSigner, ofAuthorities, threads } = this.order(asked, signer);
    await verifySignerChain(signer, threads);
    checkSignerPath(signer, new Date());
    const { ownAuthority } = this.#services;
    const { level, tolerance } = asked;
    if (level !== 'T' && tolerance?.cancelOnError !== false) {
      const fields = tolerance === undefined ? longTermFields : revocationDataFields;
      checkSourcesNamed({ certificates: signerCertificates(signer), ofSigner, ofAuthorities, ownAuthority, fields });
    }
    const authorities = timeStampAuthorities(asked.timeStamp.addresses, signer, this.#services);
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
  const authorities = timeStampAuthorities(addresses, signer, services);
  const trust = { ...timeStampTrust(), anyRoot: anyRoot && addresses.source === 'CLIENT', allowSha1 };
  return {
    level,
    stamp: async (imprint, signal) => timeStamps.stamp(imprint, { authorities, policy, nonce, credentials, recovery, trust, signal }),
    imprintHash: hash,
    sources: revocation,
    threads,
    ofSigner: wantedData(ofSigner, services),
    ofAuthorities: wantedData(ofAuthorities, services),
    tolerance,
    now: () => new Date(),
    totalSeconds,
    allowSha1,
  };
}

/** @throws {Refusal} TIMESTAMP_UNAVAILABLE, UNSUPPORTED */
function timeStampAuthorities(
  addresses: Addresses,
  { certificate }: SignerChain,
  { http, server }: LevelServices,
): readonly AuthorityAddress[] {
  if (addresses.source === 'CLIENT') return addresses.urls.map((url) => clientUrl(url, http));
  if (addresses.source === 'SERVER') return configuredAuthorities(server);
  const named = timeStampUrlOf(certificate);
  if (named === undefined)
    throw new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'the signer certificate names no time-stamp authority (URLSource CERTIFICATE)' });
  try {
    return [httpUrl(named)];
  } catch (error) {
    if (!(error instanceof UrlRefused)) throw error;
    throw new Refusal('TIMESTAMP_UNAVAILABLE', {
      message: `the time-stamp authority of the signer certificate: ${error.message}`,
      cause: error,
    });
  }
}

/** @throws {Refusal} TIMESTAMP_UNAVAILABLE */
function configuredAuthorities(server: LevelServices['server']): readonly AuthorityAddress[] {
  const configured = server.authorities();
  if (configured.length > 0) return configured;
  throw new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'no time-stamp authority is configured (URLSource SERVER)' });
}

function wantedData({ choice, ocsp, crl }: StatusData, { http, server }: LevelServices): WantedData {
  const source = (addresses: Addresses, configured: readonly URL[]): DataSource =>
    addresses.source === 'CLIENT'
      ? { kind: 'CLIENT', urls: addresses.urls.map((url) => clientUrl(url, http)) }
      : addresses.source === 'SERVER'
        ? { kind: 'SERVER', urls: configured }
        : { kind: 'CERTIFICATE' };
  return { choice, ocsp: source(ocsp, server.ocspUrls), crl: source(crl, server.crlUrls) };
}

/**
 * Returns a URL from a caller.
 * @throws {Refusal} FIELD_INVALID for a scheme other than http and https, UNSUPPORTED for a host
 * that is not allowed
 */
function clientUrl(text: string, http: Pick<OutgoingHttp, 'clientUrl'>, at?: string): URL {
  try {
    return http.clientUrl(text);
  } catch (error) {
    if (!(error instanceof UrlRefused)) throw error;
    const isScheme = error.reason === 'scheme';
    const message = isScheme ? error.message : `${error.message} (outgoing.clientHosts of the configuration)`;
    throw new Refusal(isScheme ? 'FIELD_INVALID' : 'UNSUPPORTED', { message, cause: error, ...(at === undefined ? {} : { at }) });
  }
}
