import { readTime } from '../asn1/read-time.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';

/** A complete CRL of one CA (RFC 5280 §5.1). The byte fields share the memory of the input. */
export interface CertificateList {
  /** The signed part: TBSCertList in DER. */
  readonly toBeSigned: Uint8Array;
  /** DER of the AlgorithmIdentifier. */
  readonly signatureAlgorithm: Uint8Array;
  readonly signatureValue: Uint8Array;
  /** DER of the Name. */
  readonly issuer: Uint8Array;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  /** Serial numbers in the form of `serialText`. */
  readonly revoked: ReadonlySet<string>;
}

const tagOf = { boolean: 0x01, integer: 0x02, bitString: 0x03, sequence: 0x30, extensions: 0xa0 } as const;
/** UTCTime and GeneralizedTime. */
const timeTags: ReadonlySet<number | undefined> = new Set([0x17, 0x18]);
const deltaIndicator = '2.5.29.27';

/**
 * Reads a complete, direct CRL. Signature and times are not checked.
 * @throws {DerError} for anything else: trailing bytes, no nextUpdate (RFC 5280 §5.1.2.5), a delta
 * CRL, and any critical extension, since such a list may cover only some certificates or those of
 * other issuers.
 */
export function readCertificateList(der: Uint8Array): CertificateList {
  const outer = new SequenceFields(expectTag(readAll(der), tagOf.sequence));
  const toBeSigned = outer.next(tagOf.sequence);
  const algorithm = outer.next(tagOf.sequence);
  const signature = outer.next(tagOf.bitString).content;
  outer.end();
  if (signature[0] !== 0) throw new DerError('signature is not a whole number of octets', algorithm.end);

  const tbs = new SequenceFields(toBeSigned);
  if (tbs.tag === tagOf.integer && tbs.next().content[0] !== 1) throw new DerError('unknown CRL version', toBeSigned.start);
  // RFC 5280 5.1.1.2: the outer signature algorithm must equal the signed one.
  if (Buffer.compare(tbs.next(tagOf.sequence).raw, algorithm.raw) !== 0) {
    throw new DerError('inner and outer signature algorithms differ', algorithm.start);
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

/** Converts a hexadecimal serial number from Node to the form used in `revoked`. */
export function serialText(hexadecimal: string): string {
  return hexadecimal.toLowerCase().replace(/^(-?)0+(?=.)/, '$1');
}

/** Returns the serial number of one revoked certificate. */
function readEntry(element: DerElement): string {
  const entry = new SequenceFields(expectTag(element, tagOf.sequence));
  const { content } = entry.next(tagOf.integer);
  if (content.length === 0) throw new DerError('empty serial number', element.start);
  readTime(entry.next());
  if (entry.tag === tagOf.sequence) refuseCritical(entry.next());
  entry.end();
  return BigInt.asIntN(8 * content.length, BigInt(`0x${Buffer.from(content).toString('hex')}`)).toString(16);
}

function refuseCritical(extensions: DerElement): void {
  for (const element of children(expectTag(extensions, tagOf.sequence))) {
    const extension = new SequenceFields(expectTag(element, tagOf.sequence));
    const identifier = readObjectIdentifier(extension.next());
    if (identifier === deltaIndicator) throw new DerError('a delta CRL; a complete one is required', element.start);
    if (extension.tag === tagOf.boolean && extension.next().content[0] !== 0) {
      throw new DerError(
        `unknown critical extension ${identifier}; a complete CRL of the CA's own certificates is required`,
        element.start,
      );
    }
  }
}
