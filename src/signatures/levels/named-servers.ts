import { timeStampUrlOf } from '../../certificates/time-stamp-url.ts';
import type { OutgoingHttp } from '../../outgoing/outgoing-http.ts';
import { httpUrl, notVouchedFor, UrlRefused } from '../../outgoing/url-rules.ts';
import { Refusal } from '../../result-codes.ts';
import type { DataSource, WantedData } from '../../revocation/revocation-data.ts';
import type { AuthorityAddress } from '../../timestamp/time-stamp-client.ts';
import type { SignerChain } from '../format.ts';
import type { Addresses, StatusData } from './asked-level.ts';
import { signerCertificates } from './signer-path.ts';
import type { Vouches } from './vouching.ts';

/** Servers that the configuration names (URLSource SERVER). */
export interface ConfiguredServers {
  readonly authorities: () => readonly AuthorityAddress[];
  readonly crlUrls: readonly URL[];
  readonly ocspUrls: readonly URL[];
}

/** What decides whether a server may be asked. */
export interface NamingRules {
  readonly http: Pick<OutgoingHttp, 'clientUrl' | 'isClientHost'>;
  readonly server: ConfiguredServers;
}

/** Authorities to ask, and whether a caller chose them. */
export interface NamedAuthorities {
  readonly authorities: readonly AuthorityAddress[];
  readonly areCallersChoice: boolean;
}

/**
 * Returns the time-stamp authorities that a request names.
 * @throws {Refusal} TIMESTAMP_UNAVAILABLE if there is none that may be asked; UNSUPPORTED for a URL
 * of the caller with a host that is not (or no longer) allowed
 */
export function timeStampAuthorities(
  addresses: Addresses,
  signer: SignerChain,
  { http, server, vouches }: NamingRules & { readonly vouches: Vouches },
): NamedAuthorities {
  if (addresses.source === 'CLIENT') return { authorities: addresses.urls.map((url) => clientUrl(url, http)), areCallersChoice: true };
  if (addresses.source === 'SERVER') return { authorities: configuredAuthorities(server), areCallersChoice: false };
  const named = timeStampUrlOf(signer.certificate);
  if (named === undefined) throw unavailable('the signer certificate names no time-stamp authority (URLSource CERTIFICATE)');
  const url = certificateUrl(named);
  const [own, ...above] = signerCertificates(signer);
  const isVouchedFor = vouches(own, above);
  if (!isVouchedFor && !http.isClientHost(url))
    throw unavailable(`the time-stamp authority of the signer certificate is not asked: ${notVouchedFor(url)}`);
  return { authorities: [url], areCallersChoice: !isVouchedFor };
}

/** @throws {Refusal} TIMESTAMP_UNAVAILABLE */
export function configuredAuthorities({ authorities }: Pick<ConfiguredServers, 'authorities'>): readonly AuthorityAddress[] {
  const configured = authorities();
  if (configured.length > 0) return configured;
  throw unavailable('no time-stamp authority is configured (URLSource SERVER)');
}

/** Returns the sources of revocation data that a request names. @throws {Refusal} UNSUPPORTED */
export function wantedData({ choice, ocsp, crl }: StatusData, { http, server }: NamingRules): WantedData {
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
export function clientUrl(text: string, http: Pick<OutgoingHttp, 'clientUrl'>, at?: string): URL {
  try {
    return http.clientUrl(text);
  } catch (error) {
    if (!(error instanceof UrlRefused)) throw error;
    const isScheme = error.reason === 'scheme';
    const message = isScheme ? error.message : `${error.message} (outgoing.clientHosts of the configuration)`;
    throw new Refusal(isScheme ? 'FIELD_INVALID' : 'UNSUPPORTED', { message, cause: error, ...(at === undefined ? {} : { at }) });
  }
}

/** @throws {Refusal} TIMESTAMP_UNAVAILABLE */
function certificateUrl(named: string): URL {
  try {
    return httpUrl(named);
  } catch (error) {
    if (!(error instanceof UrlRefused)) throw error;
    throw unavailable(`the time-stamp authority of the signer certificate: ${error.message}`, error);
  }
}

function unavailable(message: string, cause?: unknown): Refusal {
  return new Refusal('TIMESTAMP_UNAVAILABLE', { message, cause });
}
