import { timeStampUrlOf } from '../certificates/time-stamp-url.ts';
import type { PathCertificate } from '../certificates/path/path-certificate.ts';
import type { OutgoingHttp } from '../outgoing/outgoing-http.ts';
import { httpUrl, UrlRefused } from '../outgoing/url-rules.ts';
import { Refusal } from '../result-codes.ts';
import type { DataSource, RevocationSources, WantedData } from '../revocation/revocation-data.ts';
import type { CheckedToken } from '../timestamp/check-token.ts';
import type { ImprintHash, MessageImprint } from '../timestamp/request.ts';
import type { AuthorityAddress, TimeStampClient } from '../timestamp/time-stamp-client.ts';
import type { Addresses, AskedLevel, StatusData } from './asked-level.ts';
import type { SignerChain } from './format.ts';

/** What a signature above baseline B is made with. */
export interface LevelOrder {
  readonly level: AskedLevel['level'];
  readonly stamp: (imprint: MessageImprint, signal: AbortSignal) => Promise<CheckedToken>;
  /** Hash of what is time-stamped. */
  readonly imprintHash: ImprintHash;
  readonly sources: RevocationSources;
  readonly ofSigner: WantedData;
  readonly ofAuthorities: WantedData;
  readonly now: () => Date;
  /** For all that is asked of other servers. */
  readonly totalSeconds: number;
}

/** What levels above baseline B are made with, as one configuration has it. */
export interface LevelServices {
  readonly http: OutgoingHttp;
  readonly timeStamps: TimeStampClient;
  readonly revocation: RevocationSources;
  /** What URLSource SERVER means. */
  readonly server: {
    readonly authorities: () => readonly AuthorityAddress[];
    readonly crlUrls: readonly URL[];
    readonly ocspUrls: readonly URL[];
  };
  /** Where the chains of time-stamp authorities lead to, and certificates that may be on the way. */
  readonly timeStampTrust: () => { readonly anchors: readonly PathCertificate[]; readonly intermediates: readonly PathCertificate[] };
  /** For all that one request asks of other servers. */
  readonly totalSeconds: number;
}

/** How the callers of one tenant reach levels above baseline B. */
export class Levels {
  readonly #services: LevelServices;
  readonly #anyRoot: boolean;

  /** `anyRoot`: time-stamp authorities that a caller names may lead to any root. */
  constructor(services: LevelServices, { anyRoot }: { readonly anyRoot: boolean }) {
    this.#services = services;
    this.#anyRoot = anyRoot;
  }

  /** Whether a URL of a caller may be asked. `at`: pointer of the field. @throws {Refusal} FIELD_INVALID, UNSUPPORTED */
  checkUrl(text: string, at: string): void {
    clientUrl(text, this.#services.http, at);
  }

  /**
   * How a level that was asked for is reached now, for this signer. Nothing is asked yet.
   * @throws {Refusal} TIMESTAMP_UNAVAILABLE where no authority is named; UNSUPPORTED for a host that is not allowed (any more)
   */
  order(asked: AskedLevel, signer: SignerChain): LevelOrder {
    return levelOrder(asked, signer, this.#services, this.#anyRoot);
  }
}

function levelOrder(
  { level, timeStamp, ofSigner, ofAuthorities }: AskedLevel,
  signer: SignerChain,
  services: LevelServices,
  anyRoot: boolean,
): LevelOrder {
  const { timeStamps, revocation, timeStampTrust, totalSeconds } = services;
  const { addresses, hash, policy, nonce, credentials, recovery } = timeStamp;
  const authorities = timeStampAuthorities(addresses, signer, services);
  const trust = { ...timeStampTrust(), anyRoot: anyRoot && addresses.source === 'CLIENT' };
  return {
    level,
    stamp: async (imprint, signal) => timeStamps.stamp(imprint, { authorities, policy, nonce, credentials, recovery, trust, signal }),
    imprintHash: hash,
    sources: revocation,
    ofSigner: wantedData(ofSigner, services),
    ofAuthorities: wantedData(ofAuthorities, services),
    now: () => new Date(),
    totalSeconds,
  };
}

/** @throws {Refusal} TIMESTAMP_UNAVAILABLE, UNSUPPORTED */
function timeStampAuthorities(
  addresses: Addresses,
  { certificate }: SignerChain,
  { http, server }: LevelServices,
): readonly AuthorityAddress[] {
  if (addresses.source === 'CLIENT') return addresses.urls.map((url) => clientUrl(url, http));
  if (addresses.source === 'SERVER') {
    const configured = server.authorities();
    if (configured.length > 0) return configured;
    throw new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'no time-stamp authority is configured (URLSource SERVER)' });
  }
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

function wantedData({ choice, ocsp, crl }: StatusData, { http, server }: LevelServices): WantedData {
  const source = (addresses: Addresses, configured: readonly URL[]): DataSource =>
    addresses.source === 'CLIENT'
      ? { kind: 'CLIENT', urls: addresses.urls.map((url) => clientUrl(url, http)) }
      : addresses.source === 'SERVER'
        ? { kind: 'SERVER', urls: configured }
        : { kind: 'CERTIFICATE' };
  return { choice, ocsp: source(ocsp, server.ocspUrls), crl: source(crl, server.crlUrls) };
}

/** A URL of a caller. @throws {Refusal} FIELD_INVALID for another scheme than http and https, UNSUPPORTED for a host that is not allowed */
function clientUrl(text: string, http: Pick<OutgoingHttp, 'clientUrl'>, at?: string): URL {
  try {
    return http.clientUrl(text);
  } catch (error) {
    if (!(error instanceof UrlRefused)) throw error;
    const detail = { message: error.message, cause: error, ...(at === undefined ? {} : { at }) };
    throw new Refusal(error.reason === 'scheme' ? 'FIELD_INVALID' : 'UNSUPPORTED', detail);
  }
}
