import { readTime } from '../asn1/read-time.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';

/** A complete CRL of one CA (RFC 5280 §5.1). The byte fields share the memory of what was read. */
export interface CertificateList {
  /** What is signed: the DER of TBSCertList. */
  readonly toBeSigned: Uint8Array;
  /** DER of the AlgorithmIdentifier. */
  readonly signatureAlgorithm: Uint8Array;
  readonly signatureValue: Uint8Array;
  /** DER of the Name. */
  readonly issuer: Uint8Array;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** Serial numbers as `serialText` writes them. */
  readonly revoked: ReadonlySet<string>;
}

const tagOf = { boolean: 0x01, integer: 0x02, bitString: 0x03, sequence: 0x30, extensions: 0xa0 } as const;
/** UTCTime and GeneralizedTime. */
const timeTags: ReadonlySet<number | undefined> = new Set([0x17, 0x18]);
const deltaIndicator = '2.5.29.27';

/**
 * Reads a complete, direct CRL. Signature and times are not judged.
 * @throws {DerError} for anything else: bytes after it, no nextUpdate (RFC 5280 §5.1.2.5), a delta CRL, and every critical extension, since such
 * a list says less or other things than that the certificates in it are revoked (a part of the certificates, those of other issuers).
 */
export function readCertificateList(der: Uint8Array): CertificateList {
  const outer = new SequenceFields(expectTag(readAll(der), tagOf.sequence));
  const toBeSigned = outer.next(tagOf.sequence);
  const algorithm = outer.next(tagOf.sequence);
  const signature = outer.next(tagOf.bitString).content;
  outer.end();
  if (signature[0] !== 0) throw new DerError('a signature that is no whole number of octets', algorithm.end);

  const tbs = new SequenceFields(toBeSigned);
  if (tbs.tag === tagOf.integer && tbs.next().content[0] !== 1) throw new DerError('an unknown version of CRL', toBeSigned.start);
  // RFC 5280 5.1.1.2: a signature algorithm outside of what is signed must be the one inside.
  if (Buffer.compare(tbs.next(tagOf.sequence).raw, algorithm.raw) !== 0) {
    throw new DerError('two different signature algorithms', algorithm.start);
  }
  const issuer = tbs.next(tagOf.sequence).raw;
  const thisUpdate = readTime(tbs.next());
  if (!timeTags.has(tbs.tag)) throw new DerError('no nextUpdate', toBeSigned.start);
  const nextUpdate = readTime(tbs.next());
  const revoked = new Set(tbs.tag === tagOf.sequence ? children(tbs.next()).map(readEntry) : []);
  if (tbs.tag === tagOf.extensions) refuseCritical(readAll(tbs.next().content));
  tbs.end();
  return {
    toBeSigned: toBeSigned.raw,
    signatureAlgorithm: algorithm.raw,
    signatureValue: signature.subarray(1),
    issuer,
    thisUpdate,
    nextUpdate,
    revoked,
  };
}

/** A serial number that Node wrote in hexadecimal, in the one form that lists are searched for. */
export function serialText(hexadecimal: string): string {
  return hexadecimal.toLowerCase().replace(/^(-?)0+(?=.)/, '$1');
}

/** The serial number of one revoked certificate. */
function readEntry(element: DerElement): string {
  const entry = new SequenceFields(expectTag(element, tagOf.sequence));
  const { content } = entry.next(tagOf.integer);
  if (content.length === 0) throw new DerError('a serial number without octets', element.start);
  readTime(entry.next());
  if (entry.tag === tagOf.sequence) refuseCritical(entry.next());
  entry.end();
  return BigInt.asIntN(8 * content.length, BigInt(`0x${Buffer.from(content).toString('hex')}`)).toString(16);
}

function refuseCritical(extensions: DerElement): void {
  for (const element of children(expectTag(extensions, tagOf.sequence))) {
    const extension = new SequenceFields(expectTag(element, tagOf.sequence));
    const identifier = readObjectIdentifier(extension.next());
    if (identifier === deltaIndicator) throw new DerError('a delta CRL: a complete one is needed', element.start);
    if (extension.tag === tagOf.boolean && extension.next().content[0] !== 0) {
      throw new DerError(
        `the critical extension ${identifier}, which is not understood: a complete CRL of the CA's own certificates is needed`,
        element.start,
      );
    }
  }
}
