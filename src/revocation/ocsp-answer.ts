import { createHash } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { readTime } from '../asn1/read-time.ts';
import { foundOnce, readOnce } from '../asn1/read-once.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { canonicalSequence, type CanonicalName } from '../x509/path/canonical-name.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import { readHashIdentifier } from '../x509/signature-identifier.ts';
import { verificationRule } from '../x509/verification-rule.ts';
import { dataVerifies } from '../verification/verify-value.ts';

/** The status of one certificate in an answer (RFC 6960 §4.2.1). */
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

/** A BasicOCSPResponse (RFC 6960 §4.2.1). Nothing is judged yet. */
export interface OcspAnswer {
  /** The OCSPResponse as a whole. */
  readonly der: Uint8Array;
  /** What CMS keeps of it (RFC 5940 §2.2 is the whole answer; CAdES and PAdES take the BasicOCSPResponse where they say so). */
  readonly basic: Uint8Array;
  readonly responder: { readonly name: CanonicalName } | { readonly keyHash: Uint8Array };
  readonly producedAt: Date;
  readonly answers: readonly SingleAnswer[];
  readonly nonce: Uint8Array | undefined;
  /** A critical extension that is not understood. */
  readonly unknownCritical: string | undefined;
  /** Those that came with it; what is no certificate is left out. */
  readonly certificates: readonly PathCertificate[];
  isSignedBy(signer: PathCertificate): boolean;
}

const tagOf = { boolean: 0x01, bitString: 0x03, octetString: 0x04, enumerated: 0x0a, sequence: 0x30 } as const;
/** An answer has the certificate of its responder, and of those above it at most. To read one takes up to half a millisecond. */
const certificatesMax = 20;
const basicType = '1.3.6.1.5.5.7.48.1.1';
const nonceType = '1.3.6.1.5.5.7.48.1.2';
const responseStatuses = ['successful', 'malformedRequest', 'internalError', 'tryLater', '', 'sigRequired', 'unauthorized'];

/** Those of authorities stand in every signature. */
const memory = { entriesMax: 1000, entryMaxBytes: 16 * 1024 };

/**
 * The same object for the same bytes, as long as it is remembered.
 * @throws {DerError} for what is no answer with a status of certificates: a refusal too, named in the message
 */
export const readOcspAnswer: (bytes: Uint8Array) => OcspAnswer = readOnce(readAnswer, memory);

function readAnswer(bytes: Uint8Array): OcspAnswer {
  const outer = new SequenceFields(expectTag(readAll(bytes), tagOf.sequence));
  const status = outer.next(tagOf.enumerated).content[0] ?? 255;
  if (status !== 0) throw new DerError(`the responder refuses: ${responseStatuses[status] ?? String(status)}`, 0);
  const [typed] = children(outer.next(0xa0));
  outer.end();
  const body = new SequenceFields(expectTag(required(typed), tagOf.sequence));
  if (readObjectIdentifier(body.next()) !== basicType) throw new DerError('no basic OCSP response', 0);
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
  if (signature[0] !== 0) throw new DerError('a signature that is no whole number of octets', algorithm.end);

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
    isSignedBy: foundOnce(
      ({ publicKey }) => publicKey !== undefined && dataVerifies(publicKey, verificationRule(algorithm), data.raw, signature.subarray(1)),
    ),
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
  throw new DerError('no responder', element.start);
}

function readSingle(element: DerElement): SingleAnswer {
  const fields = new SequenceFields(expectTag(element, tagOf.sequence));
  const id = new SequenceFields(fields.next(tagOf.sequence));
  const hash = readHashIdentifier(id.next(tagOf.sequence));
  if (hash === undefined) throw new DerError('a certificate named by a hash that is not understood', element.start);
  const issuerNameHash = id.next(tagOf.octetString).content;
  const issuerKeyHash = id.next(tagOf.octetString).content;
  const serialNumber = id.next(0x02).content;
  id.end();
  const status = readStatus(fields.next());
  const thisUpdate = readTime(fields.next());
  const nextUpdate = fields.tag === 0xa0 ? readTime(required(children(fields.next())[0])) : undefined;
  if (fields.tag === 0xa1) {
    const unknown = readExtensions(required(children(fields.next())[0])).find(({ critical }) => critical);
    if (unknown !== undefined) throw new DerError(`the critical extension ${unknown.oid} is not understood`, element.start);
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
      throw new DerError('no status of a certificate', element.start);
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
  if (element === undefined) throw new DerError('a field is absent', 0);
  return element;
}

/** A request for the status of one certificate (RFC 6960 §4.1), by SHA-1 as RFC 5019 §2.1.1 has it, which every responder knows. */
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

/** How a CertID names an issuer (RFC 6960 §4.1.1): by its name in DER and the bits of its key. */
export function issuerHashes(issuer: PathCertificate, hash: string): { issuerNameHash: Buffer; issuerKeyHash: Buffer } {
  return { issuerNameHash: createHash(hash).update(issuer.subject).digest(), issuerKeyHash: keyHash(issuer, hash) };
}

/** Hash of the subjectPublicKey without tag, length and unused bits. */
export function keyHash({ subjectPublicKeyInfo }: PathCertificate, hash: string): Buffer {
  const [, key] = children(readAll(subjectPublicKeyInfo));
  return createHash(hash).update(required(key).content.subarray(1)).digest();
}
