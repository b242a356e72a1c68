import { isSelfSigned, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { isHttpUrl } from '../../outgoing/url-rules.ts';
import { Refusal } from '../../result-codes.ts';
import type { DataSource, OwnAuthority, WantedData } from '../../revocation/revocation-data.ts';

/** Chain of a signer, from its certificate up, with the requested revocation data. */
interface SignerSources {
  readonly certificates: readonly PathCertificate[];
  readonly ofSigner: WantedData;
  readonly ofAuthorities: WantedData;
  /** Returns the service's own revocation data for an issuer's certificates. */
  readonly ownAuthority: (issuer: PathCertificate) => OwnAuthority | undefined;
  /** Members of the request that name the sources, for messages. */
  readonly fields: { readonly ofSigner: string; readonly ofAuthorities: string };
}

/**
 * Checks whether the status of each certificate has a source, without requesting anything.
 * Otherwise a missing source would be noticed only after the signer has signed, and repeating the
 * request would not help.
 * @throws {Refusal} REVOCATION_UNAVAILABLE
 */
export function checkSourcesNamed({ certificates, ofSigner, ofAuthorities, ownAuthority, fields }: SignerSources): void {
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
    if (wanted !== 'CRL' && !isNamed(ocsp, certificate.ocspUrls, own?.ocspAnswer))
      throw unavailable(`no OCSP responder is known for ${name}: ${whereTo(ocsp, 'OCSP', field)}`);
    if (wanted !== 'OCSP' && !isNamed(crl, crlUrls, own?.crl))
      throw unavailable(`no CRL is known for ${name}: ${whereTo(crl, 'CRL', field)}`);
  }
}

function isNamed(source: DataSource, inCertificate: readonly string[], own: unknown): boolean {
  if (source.kind !== 'CLIENT' && own !== undefined) return true;
  return source.kind === 'CERTIFICATE' ? inCertificate.some(isHttpUrl) : source.urls.length > 0;
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
