import { readTime } from '../asn1/read-time.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';

/** An extension of a parsed certificate. */
export interface ReadExtension {
  readonly oid: string;
  readonly critical: boolean;
  /** Content of the OCTET STRING. */
  readonly value: Uint8Array;
}

/** TBSCertificate (RFC 5280 §4.1.2). The byte fields share the memory of the input. */
export interface TbsCertificate {
  /** 0 for version 1, as encoded. */
  readonly version: number;
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  readonly algorithm: DerElement;
  /** DER of the Name. */
  readonly issuer: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** DER of the Name. */
  readonly subject: Uint8Array;
  /** DER of the SubjectPublicKeyInfo. */
  readonly subjectPublicKeyInfo: Uint8Array;
  /** By OID, in the order of the certificate. */
  readonly extensions: ReadonlyMap<string, ReadExtension>;
}

const tagOf = { boolean: 0x01, integer: 0x02, octetString: 0x04, sequence: 0x30, version: 0xa0, extensions: 0xa3 } as const;

/** @throws {DerError} */
export function readTbsCertificate(element: DerElement): TbsCertificate {
  const tbs = new SequenceFields(expectTag(element, tagOf.sequence));
  const version = readVersion(tbs);
  const serialNumber = tbs.next(tagOf.integer).content;
  const algorithm = tbs.next(tagOf.sequence);
  const issuer = tbs.next(tagOf.sequence).raw;
  const validity = new SequenceFields(tbs.next(tagOf.sequence));
  const notBefore = readTime(validity.next());
  const notAfter = readTime(validity.next());
  validity.end();
  const subject = tbs.next(tagOf.sequence).raw;
  const subjectPublicKeyInfo = tbs.next(tagOf.sequence).raw;
  const extensions = version === 2 ? readExtensions(tbs) : new Map<string, ReadExtension>();
  return { version, serialNumber, algorithm, issuer, notBefore, notAfter, subject, subjectPublicKeyInfo, extensions };
}

function readVersion(tbs: SequenceFields): number {
  if (tbs.tag !== tagOf.version) return 0;
  const version = expectTag(readAll(tbs.next().content), tagOf.integer).content;
  const [number = 0] = version;
  if (version.length !== 1 || number > 2) throw new DerError('unknown X.509 version', 0);
  return number;
}

/** Reads extensions and rejects duplicates (RFC 5280 §4.2). */
function readExtensions(tbs: SequenceFields): Map<string, ReadExtension> {
  const found = new Map<string, ReadExtension>();
  while (tbs.tag !== undefined && tbs.tag !== tagOf.extensions) tbs.next();
  if (tbs.tag === undefined) return found;
  for (const element of children(expectTag(readAll(tbs.next().content), tagOf.sequence))) {
    const fields = new SequenceFields(expectTag(element, tagOf.sequence));
    const oid = readObjectIdentifier(fields.next());
    const critical = fields.tag === tagOf.boolean ? fields.next().content[0] === 0xff : false;
    if (found.has(oid)) throw new DerError(`duplicate extension ${oid}`, element.start);
    found.set(oid, { oid, critical, value: fields.next(tagOf.octetString).content });
    fields.end();
  }
  tbs.end();
  return found;
}
