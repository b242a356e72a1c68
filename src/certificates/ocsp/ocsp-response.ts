import { hash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { children, DerError, readAll } from '../../asn1/reader.ts';
import { signedStructure, type CertificateSigner } from '../signed-certificate.ts';

/** OCSPResponseStatus (RFC 6960 4.2.1) of error responses, which are not signed. */
const errorStatuses = { malformedRequest: 1, internalError: 2, tryLater: 3, unauthorized: 6 } as const;
export type OcspError = keyof typeof errorStatuses;

/** Status of a certificate. */
export type CertStatus =
  | { readonly kind: 'good' }
  /** `reason`: CRLReason. */
  | { readonly kind: 'revoked'; readonly revokedAt: Date; readonly reason: number }
  /** It was never issued. */
  | { readonly kind: 'unknown' };

export interface SingleResponse {
  /** DER of the requested CertID. */
  readonly certId: Uint8Array;
  readonly status: CertStatus;
}

export interface ResponseContent {
  readonly responses: readonly SingleResponse[];
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  readonly nonce?: Uint8Array | undefined;
  /** The status of certificates that expired after this time is known (RFC 6960 4.4.4). */
  readonly archiveCutoff?: Date | undefined;
  /**
   * Certificates that were never issued are reported as revoked, and the response says so (RFC 6960
   * §2.2, 4.4.8).
   */
  readonly extendedRevoke: boolean;
}

/** Signer of responses, with the certificate that the authority issued to it. */
export type ResponseSigner = Omit<CertificateSigner, 'name'> & { readonly certificate: Uint8Array };

const successful = Uint8Array.of(0);
const enumeratedTag = 0x0a;
/** CRLReason unspecified, which is omitted. */
const unspecified = 0;

const errors = new Map(
  Object.entries(errorStatuses).map(([name, status]) => [name, der.sequence(der.tagged(enumeratedTag, Uint8Array.of(status)))]),
);

/** Returns an OCSPResponse (RFC 6960 4.2.1) that contains only a status. */
export function errorResponse(error: OcspError): Uint8Array {
  const found = errors.get(error);
  if (found === undefined) throw new RangeError(`${error} is not a status`);
  return found;
}

/**
 * Returns a signed OCSPResponse of type id-pkix-ocsp-basic (RFC 6960 4.2.1), version 1.
 * @throws {Error} if the signature does not verify
 */
export async function basicResponse(signer: ResponseSigner, content: ResponseContent): Promise<Uint8Array> {
  const { nonce, extendedRevoke, thisUpdate } = content;
  const extensions = [
    ...(nonce === undefined ? [] : [responseExtension(oids.ocspNonce, der.octetString(nonce))]),
    ...(extendedRevoke ? [responseExtension(oids.ocspExtendedRevoke, der.nullValue())] : []),
  ];
  const tbs = der.sequence(
    // byKey: each name has one key, and a hash is shorter.
    der.explicit(2, der.octetString(keyHash(signer.subjectPublicKeyInfo, 'sha1'))),
    der.generalizedTime(thisUpdate),
    der.sequence(...content.responses.map((response) => singleResponse(response, content))),
    ...(extensions.length === 0 ? [] : [der.explicit(1, der.sequence(...extensions))]),
  );
  const basic = await signedStructure(signer, tbs, der.explicit(0, der.sequence(signer.certificate)));
  return der.sequence(
    der.tagged(enumeratedTag, successful),
    der.explicit(0, der.sequence(der.oid(oids.ocspBasic), der.octetString(basic))),
  );
}

function singleResponse({ certId, status }: SingleResponse, { thisUpdate, nextUpdate, archiveCutoff }: ResponseContent): Uint8Array {
  return der.sequence(
    certId,
    certStatus(status, thisUpdate),
    der.generalizedTime(thisUpdate),
    der.explicit(0, der.generalizedTime(nextUpdate)),
    ...(archiveCutoff === undefined
      ? []
      : [der.explicit(1, der.sequence(responseExtension(oids.ocspArchiveCutoff, der.generalizedTime(archiveCutoff))))]),
  );
}

/**
 * The revocation date never lies after the response, even if the clocks of several instances
 * differ.
 */
function certStatus(status: CertStatus, thisUpdate: Date): Uint8Array {
  if (status.kind === 'good') return der.implicitPrimitive(0, new Uint8Array());
  if (status.kind === 'unknown') return der.implicitPrimitive(2, new Uint8Array());
  const { revokedAt, reason } = status;
  const time = der.generalizedTime(revokedAt > thisUpdate ? thisUpdate : revokedAt);
  const reasonField = reason === unspecified ? [] : [der.explicit(0, der.tagged(enumeratedTag, Uint8Array.of(reason)))];
  return der.implicitConstructed(1, der.concat(time, ...reasonField));
}

function responseExtension(oid: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(oid), der.octetString(value));
}

/**
 * Returns the hash of a public key's BIT STRING: issuerKeyHash of a CertID, or KeyHash of a
 * ResponderID with SHA-1 (RFC 6960 4.1.1, 4.2.1).
 * @throws {DerError}
 */
export function keyHash(subjectPublicKeyInfo: Uint8Array, algorithm: string): Uint8Array {
  const [, publicKey] = children(readAll(subjectPublicKeyInfo));
  if (publicKey?.tag !== 0x03) throw new DerError('not a SubjectPublicKeyInfo', 0);
  return hash(algorithm, publicKey.content.subarray(1), 'buffer');
}
