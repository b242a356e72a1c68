import { createHash } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { readTime } from '../asn1/read-time.ts';
import { readOnce } from '../asn1/read-once.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { areLight, elementsMax } from '../x509/certificate-load.ts';
import { canonicalSequence, type CanonicalName } from '../x509/path/canonical-name.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import { readHashIdentifier, verificationRule } from '../x509/signature-identifier.ts';
import { pairVerifies } from '../x509/known-signatures.ts';

/** Status of one certificate in a response (RFC 6960 §4.2.1). */
export interface SingleAnswer {
  readonly hash: string;
  readonly issuerNameHash: Uint8Array;
  readonly issuerKeyHash: Uint8Array;
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  readonly status:
    | { readonly kind: 'good' | 'unknown' }
    | { readonly kind: 'revoked'; readonly revokedAt: Date; readonly reason: number | undefined };
  readonly thisUpdate: Date;
  readonly nextUpdate: Date | undefined;
}

/** A parsed BasicOCSPResponse (RFC 6960 §4.2.1), not yet checked. */
export interface OcspAnswer {
  /** The whole OCSPResponse. */
  readonly der: Uint8Array;
  /**
   * The BasicOCSPResponse, which CAdES and PAdES embed in places (RFC 5940 §2.2 embeds the whole
   * response).
   */
  readonly basic: Uint8Array;
  readonly responder: { readonly name: CanonicalName } | { readonly keyHash: Uint8Array };
  readonly producedAt: Date;
  readonly answers: readonly SingleAnswer[];
  readonly nonce: Uint8Array | undefined;
  /** OID of an unknown critical extension, if any. */
  readonly unknownCritical: string | undefined;
  /** Certificates in the response; those that cannot be parsed are skipped. */
  readonly certificates: readonly PathCertificate[];
  /** @throws {DerError} for an algorithm that is not supported */
  isSignedBy(signer: PathCertificate): boolean;
}

const tagOf = { boolean: 0x01, bitString: 0x03, octetString: 0x04, enumerated: 0x0a, sequence: 0x30 } as const;
/**
 * A response contains the responder's certificate and at most its chain. Parsing one takes up to
 * half a millisecond.
 */
const certificatesMax = 20;
const basicType = '1.3.6.1.5.5.7.48.1.1';
const nonceType = '1.3.6.1.5.5.7.48.1.2';
const responseStatuses = ['successful', 'malformedRequest', 'internalError', 'tryLater', '', 'sigRequired', 'unauthorized'];

/** Responses about CA certificates recur in every signature. */
const memory = { entriesMax: 1000, entryMaxBytes: 16 * 1024 };

/**
 * Reads an OCSPResponse; cached, so that the same bytes give the same object.
 * @throws {DerError} for anything but a response with certificate statuses; an error response is
 * named in the message
 */
export const readOcspAnswer: (bytes: Uint8Array) => OcspAnswer = readOnce(readAnswer, memory);

function readAnswer(bytes: Uint8Array): OcspAnswer {
  const outer = new SequenceFields(expectTag(readAll(bytes), tagOf.sequence));
  const status = outer.next(tagOf.enumerated).content[0] ?? 255;
  if (status !== 0) throw new DerError(`the responder refused: ${responseStatuses[status] ?? String(status)}`, 0);
  const [typed] = children(outer.next(0xa0));
  outer.end();
  const body = new SequenceFields(expectTag(required(typed), tagOf.sequence));
  if (readObjectIdentifier(body.next()) !== basicType) throw new DerError('not a basic OCSP response', 0);
  const basic = body.next(tagOf.octetString).content;
  body.end();
  return { der: bytes, ...readBasic(basic) };
}

function readBasic(basic: Uint8Array): Omit<OcspAnswer, 'der'> {
  const fields = new SequenceFields(expectTag(readAll(basic), tagOf.sequence));
  const data = fields.next(tagOf.sequence);
  const algorithm = fields.next(tagOf.sequence);
  const signature = fields.next(tagOf.bitString).content;
  const certificates = fields.tag === 0xa0 ? children(expectTag(required(children(fields.next())[0]), tagOf.sequence)) : [];
  fields.end();
  if (certificates.length > certificatesMax) throw new DerError(`more than ${certificatesMax} certificates`, algorithm.end);
  if (!areLight(certificates.map(({ raw }) => raw)))
    throw new DerError(`certificates with more than ${elementsMax.together} elements together`, algorithm.end);
  if (signature[0] !== 0) throw new DerError('signature is not a whole number of octets', algorithm.end);

  const tbs = new SequenceFields(data);
  if (tbs.tag === 0xa0) tbs.next();
  const responder = readResponder(tbs.next());
  const producedAt = readTime(tbs.next());
  const answers = children(tbs.next(tagOf.sequence)).map(readSingle);
  const extensions = tbs.tag === 0xa1 ? readExtensions(required(children(tbs.next())[0])) : [];
  tbs.end();
  const nonce = extensions.find(({ oid }) => oid === nonceType)?.value;
  return {
    basic,
    responder,
    producedAt,
    answers,
    nonce: nonce === undefined ? undefined : expectTag(readAll(nonce), tagOf.octetString).content,
    unknownCritical: extensions.find(({ oid, critical }) => critical && oid !== nonceType)?.oid,
    certificates: certificates.flatMap(readCertificate),
    isSignedBy: ({ subjectPublicKeyInfo }) => {
      // Throws for an algorithm that is not supported.
      verificationRule(algorithm);
      return pairVerifies({ signed: basic, isResponse: true, subjectPublicKeyInfo });
    },
  };
}

function readCertificate({ raw }: DerElement): PathCertificate[] {
  try {
    return [pathCertificate(raw)];
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}

function readResponder(element: DerElement): OcspAnswer['responder'] {
  const inner = required(children(element)[0]);
  if (element.tag === 0xa1) return { name: canonicalSequence(inner) };
  if (element.tag === 0xa2) return { keyHash: expectTag(inner, tagOf.octetString).content };
  throw new DerError('invalid responder ID', element.start);
}

function readSingle(element: DerElement): SingleAnswer {
  const fields = new SequenceFields(expectTag(element, tagOf.sequence));
  const id = new SequenceFields(fields.next(tagOf.sequence));
  const hash = readHashIdentifier(id.next(tagOf.sequence));
  if (hash === undefined) throw new DerError('unknown hash in a CertID', element.start);
  const issuerNameHash = id.next(tagOf.octetString).content;
  const issuerKeyHash = id.next(tagOf.octetString).content;
  const serialNumber = id.next(0x02).content;
  id.end();
  const status = readStatus(fields.next());
  const thisUpdate = readTime(fields.next());
  const nextUpdate = fields.tag === 0xa0 ? readTime(required(children(fields.next())[0])) : undefined;
  if (fields.tag === 0xa1) {
    const unknown = readExtensions(required(children(fields.next())[0])).find(({ critical }) => critical);
    if (unknown !== undefined) throw new DerError(`unknown critical extension ${unknown.oid}`, element.start);
  }
  fields.end();
  return { hash, issuerNameHash, issuerKeyHash, serialNumber, status, thisUpdate, nextUpdate };
}

function readStatus(element: DerElement): SingleAnswer['status'] {
  switch (element.tag) {
    case 0x80:
      return { kind: 'good' };
    case 0x82:
      return { kind: 'unknown' };
    case 0xa1: {
      const fields = new SequenceFields(element);
      const revokedAt = readTime(fields.next());
      const reason = fields.tag === 0xa0 ? expectTag(required(children(fields.next())[0]), tagOf.enumerated).content[0] : undefined;
      fields.end();
      return { kind: 'revoked', revokedAt, reason };
    }
    default:
      throw new DerError('invalid certificate status', element.start);
  }
}

function readExtensions(list: DerElement): { oid: string; critical: boolean; value: Uint8Array }[] {
  return children(expectTag(list, tagOf.sequence)).map((element) => {
    const fields = new SequenceFields(expectTag(element, tagOf.sequence));
    const oid = readObjectIdentifier(fields.next());
    const critical = fields.tag === tagOf.boolean && fields.next().content[0] !== 0;
    const value = fields.next(tagOf.octetString).content;
    fields.end();
    return { oid, critical, value };
  });
}

function required(element: DerElement | undefined): DerElement {
  if (element === undefined) throw new DerError('missing field', 0);
  return element;
}

/**
 * Returns a request for the status of one certificate (RFC 6960 §4.1), with SHA-1 as in RFC 5019
 * §2.1.1, which every responder supports.
 */
export function ocspRequest(certificate: PathCertificate, issuer: PathCertificate, nonce: Uint8Array | undefined): Uint8Array {
  const { issuerNameHash, issuerKeyHash } = issuerHashes(issuer, 'sha1');
  const algorithm = der.sequence(der.oid(oids.sha1), der.nullValue());
  const id = der.sequence(
    algorithm,
    der.octetString(issuerNameHash),
    der.octetString(issuerKeyHash),
    der.tagged(0x02, certificate.serialNumber),
  );
  const list = der.sequence(der.sequence(id));
  const extensions =
    nonce === undefined ? [] : [der.explicit(2, der.sequence(der.sequence(der.oid(nonceType), der.octetString(der.octetString(nonce)))))];
  return der.sequence(der.sequence(list, ...extensions));
}

/**
 * Returns the hashes that name an issuer in a CertID (RFC 6960 §4.1.1): of its name in DER and of
 * its key.
 */
export function issuerHashes(issuer: PathCertificate, hash: string): { issuerNameHash: Buffer; issuerKeyHash: Buffer } {
  return { issuerNameHash: createHash(hash).update(issuer.subject).digest(), issuerKeyHash: keyHash(issuer, hash) };
}

/** Returns the hash of subjectPublicKey without tag, length and unused bits. */
export function keyHash({ subjectPublicKeyInfo }: PathCertificate, hash: string): Buffer {
  const [, key] = children(readAll(subjectPublicKeyInfo));
  return createHash(hash).update(required(key).content.subarray(1)).digest();
}
