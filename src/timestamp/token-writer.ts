import { createHash } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { hashAlgorithmIdentifier, signatureAlgorithmIdentifier } from '../cms/algorithm-identifier.ts';
import { signedData } from '../cms/signed-data.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { tstInfoType } from './tst-info.ts';

/** Signer of tokens: certificate, chain, and a function that uses the private key. */
export interface TokenSigner {
  readonly certificate: Certificate;
  /** In DER, from its own certificate upwards. */
  readonly chain: readonly Uint8Array[];
  readonly algorithm: SignatureAlgorithm;
  /** Hashes and signs bytes. Returns the value; ECDSA in DER. */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/**
 * Returns a TimeStampToken (RFC 3161 §2.4.2): SignedData over TSTInfo with the attributes that RFC
 * 3161 and RFC 5816 require. `withCertificates` (certReq) includes the chain without its root.
 */
export async function timeStampToken(
  signer: TokenSigner,
  tstInfo: Uint8Array,
  { withCertificates }: { readonly withCertificates: boolean },
): Promise<Uint8Array> {
  const { hash } = signer.algorithm;
  const digest = createHash(hash).update(tstInfo).digest();
  const attributes = der.setOf([
    attribute(oids.contentType, der.oid(tstInfoType)),
    attribute(oids.messageDigest, der.octetString(digest)),
    attribute(oids.signingCertificateV2, certificateReference(signer.certificate)),
  ]);
  const value = await signer.sign(attributes);
  const signerInfo = der.sequence(
    der.integer(1),
    der.sequence(signer.certificate.issuer, der.tagged(0x02, signer.certificate.serialNumber)),
    hashAlgorithmIdentifier(hash),
    der.implicitConstructed(0, contentOf(attributes)),
    signatureAlgorithmIdentifier(signer.algorithm),
    der.octetString(value),
  );
  const chain = signer.chain.length > 1 ? signer.chain.slice(0, -1) : signer.chain;
  const pieces = signedData({
    digestAlgorithms: [hashAlgorithmIdentifier(hash)],
    contentType: tstInfoType,
    content: [tstInfo],
    certificates: withCertificates ? chain.toSorted((left, right) => Buffer.compare(left, right)) : [],
    revocationData: [],
    signerInfos: [signerInfo],
  });
  return der.concat(...pieces.filter((piece) => piece instanceof Uint8Array));
}

function attribute(type: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(type), der.set(value));
}

/**
 * Returns SigningCertificateV2 (RFC 5035 §3, RFC 5816 §2.2.1) with SHA-256, which as the default is
 * omitted.
 */
function certificateReference(certificate: Certificate): Uint8Array {
  const digest = createHash('sha256').update(certificate.der).digest();
  const issuerSerial = der.sequence(der.sequence(der.explicit(4, certificate.issuer)), der.tagged(0x02, certificate.serialNumber));
  return der.sequence(der.sequence(der.sequence(der.octetString(digest), issuerSerial)));
}

/** Returns the content octets of a DER element, for use with an IMPLICIT tag. */
function contentOf(element: Uint8Array): Uint8Array {
  const first = element[1] ?? 0;
  return element.subarray(first < 0x80 ? 2 : 2 + (first & 0x7f));
}
