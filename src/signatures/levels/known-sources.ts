import { isSelfSigned, type PathCertificate } from '../../x509/path/path-certificate.ts';
import type { OutgoingHttp } from '../../outgoing/outgoing-http.ts';
import { httpUrl, isHttpUrl, notVouchedFor } from '../../outgoing/url-rules.ts';
import { Refusal } from '../../result-codes.ts';
import type { DataSource, OwnAuthority, WantedData } from '../../revocation/revocation-data.ts';
import type { Vouches } from './vouching.ts';

/** Chain of a signer, from its certificate up, with the requested revocation data. */
interface SignerSources {
  readonly certificates: readonly PathCertificate[];
  readonly ofSigner: WantedData;
  readonly ofAuthorities: WantedData;
  /** Returns the service's own revocation data for an issuer's certificates. */
  readonly ownAuthority: (issuer: PathCertificate) => OwnAuthority | undefined;
  readonly http: Pick<OutgoingHttp, 'isClientHost'>;
  readonly vouches: Vouches;
  /** Members of the request that name the sources, for messages. */
  readonly fields: { readonly ofSigner: string; readonly ofAuthorities: string };
}

/**
 * Checks whether the status of each certificate has a source, without requesting anything.
 * Otherwise a missing source would be noticed only after the signer has signed, and repeating the
 * request would not help.
 * @throws {Refusal} REVOCATION_UNAVAILABLE
 */
export function checkSourcesNamed(all: SignerSources): void {
  const { certificates, ofSigner, ofAuthorities, ownAuthority, fields, http, vouches } = all;
  for (const [index, certificate] of certificates.entries()) {
    if (isSelfSigned(certificate)) continue;
    const isSigner = index === 0;
    const name = isSigner ? 'the signer certificate' : 'a certificate above the signer certificate';
    const issuer = certificates[index + 1];
    if (issuer === undefined) throw unavailable(`the issuer of ${name} is unknown: the chain must lead to the root (certificateChain)`);
    const own = ownAuthority(issuer);
    const { choice, ocsp, crl } = isSigner ? ofSigner : ofAuthorities;
    const wanted = choice ?? (own?.ocspAnswer !== undefined || certificate.ocspUrls.length > 0 ? 'OCSP' : 'CRL');
    const field = isSigner ? fields.ofSigner : fields.ofAuthorities;
    const crlUrls = certificate.distributionPoints.flatMap((point) => (point.kind === 'uri' ? [point.text] : []));
    const check = (data: 'OCSP' | 'CRL', source: DataSource, inCertificate: readonly string[], ownData: unknown): void => {
      if (source.kind !== 'CLIENT' && ownData !== undefined) return;
      const what = data === 'OCSP' ? 'OCSP responder' : 'CRL';
      const urls = source.kind === 'CERTIFICATE' ? inCertificate.filter(isHttpUrl).map(httpUrl) : source.urls;
      const [first] = urls;
      if (first === undefined) throw unavailable(`no ${what} is known for ${name}: ${whereTo(source, data, field)}`);
      const mayBeAsked =
        source.kind !== 'CERTIFICATE' || vouches(certificate, certificates.slice(index + 1)) || urls.some((url) => http.isClientHost(url));
      if (!mayBeAsked)
        throw unavailable(`the ${what} that ${name} names is not asked for: ${notVouchedFor(first)}; ${whereTo(source, data, field)}`);
    };
    if (wanted !== 'CRL') check('OCSP', ocsp, certificate.ocspUrls, own?.ocspAnswer);
    if (wanted !== 'OCSP') check('CRL', crl, crlUrls, own?.crl);
  }
}

function whereTo({ kind }: DataSource, data: 'OCSP' | 'CRL', field: string): string {
  const client = `${field}.${data} accepts addresses with URLSource CLIENT`;
  return kind === 'SERVER'
    ? `the configuration has none (revocation.${data.toLowerCase()}Urls); ${client}`
    : `${client}, or uses the configured ones with SERVER`;
}

function unavailable(message: string): Refusal {
  return new Refusal('REVOCATION_UNAVAILABLE', { message });
}
