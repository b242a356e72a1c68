import { oids } from '../asn1/object-identifiers.ts';
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
  /** CRL number (RFC 5280 §5.2.3); a list need not have one. */
  readonly number: bigint | undefined;
  /** revokedCertificates, not read yet (`readRevoked`); undefined if there are none. */
  readonly entries: DerElement | undefined;
}

const tagOf = { boolean: 0x01, integer: 0x02, bitString: 0x03, octetString: 0x04, sequence: 0x30, extensions: 0xa0 } as const;
/** UTCTime and GeneralizedTime. */
const timeTags: ReadonlySet<number | undefined> = new Set([0x17, 0x18]);
const deltaIndicator = '2.5.29.27';
const issuingDistributionPoint = '2.5.29.28';
const certificateIssuer = '2.5.29.29';
/**
 * [0] distributionPoint, the only member of IssuingDistributionPoint that limits nothing by itself.
 */
const distributionPoint = 0xa0;

/**
 * Reads a complete, direct CRL, apart from its entries. Signature and times are not checked.
 * @throws {DerError} for anything else: trailing bytes, no nextUpdate (RFC 5280 §5.1.2.5), a delta
 * CRL, any critical extension, and an issuingDistributionPoint that limits the CRL (§5.2.5) even if
 * it is not critical, since such a list covers only some certificates or those of other issuers.
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
  const entries = tbs.tag === tagOf.sequence ? tbs.next() : undefined;
  const number = tbs.tag === tagOf.extensions ? readListExtensions(readAll(tbs.next().content)) : undefined;
  tbs.end();
  return {
    toBeSigned: toBeSigned.raw,
    signatureAlgorithm: algorithm.raw,
    signatureValue: signature.subarray(1),
    issuer,
    thisUpdate,
    nextUpdate,
    number,
    entries,
  };
}

/**
 * Returns the serial numbers of a CRL, in the form of `serialText`. Hundreds of thousands take
 * seconds: check the signature first.
 * @throws {DerError} for a malformed entry, and one of another issuer's certificate
 */
export function readRevoked({ entries }: Pick<CertificateList, 'entries'>): ReadonlySet<string> {
  return new Set(entries === undefined ? [] : children(entries).map(readEntry));
}

/** Converts a hexadecimal serial number from Node to the form of `readRevoked`. */
export function serialText(hexadecimal: string): string {
  return hexadecimal.toLowerCase().replace(/^(-?)0+(?=.)/, '$1');
}

/** Returns the CRL number, and refuses extensions that limit the CRL. */
function readListExtensions(extensions: DerElement): bigint | undefined {
  refuseLimits(extensions);
  for (const element of children(extensions)) {
    const extension = new SequenceFields(element);
    if (readObjectIdentifier(extension.next()) !== oids.crlNumber) continue;
    if (extension.tag === tagOf.boolean) extension.next();
    const value = extension.next(tagOf.octetString).content;
    // One that is malformed says nothing; the times of the list still order it.
    const length = value[0] === tagOf.integer && value.length > 2 ? value[1] : undefined;
    return length === value.length - 2 ? signedNumber(value.subarray(2)) : undefined;
  }
  return undefined;
}

function signedNumber(content: Uint8Array): bigint {
  return BigInt.asIntN(8 * content.length, BigInt(`0x${Buffer.from(content).toString('hex')}`));
}

/** Returns the serial number of one revoked certificate. */
function readEntry(element: DerElement): string {
  const entry = new SequenceFields(expectTag(element, tagOf.sequence));
  const { content } = entry.next(tagOf.integer);
  if (content.length === 0) throw new DerError('empty serial number', element.start);
  readTime(entry.next());
  if (entry.tag === tagOf.sequence) refuseLimits(entry.next());
  entry.end();
  return signedNumber(content).toString(16);
}

function refuseLimits(extensions: DerElement): void {
  for (const element of children(expectTag(extensions, tagOf.sequence))) {
    const extension = new SequenceFields(expectTag(element, tagOf.sequence));
    const identifier = readObjectIdentifier(extension.next());
    if (identifier === deltaIndicator) throw new DerError('a delta CRL; a complete one is required', element.start);
    const complete = "a complete CRL of the CA's own certificates is required";
    if (extension.tag === tagOf.boolean && extension.next().content[0] !== 0)
      throw new DerError(`unknown critical extension ${identifier}; ${complete}`, element.start);
    const isLimit =
      identifier === certificateIssuer ||
      (identifier === issuingDistributionPoint &&
        children(expectTag(readAll(extension.next(tagOf.octetString).content), tagOf.sequence)).some(
          ({ tag }) => tag !== distributionPoint,
        ));
    if (isLimit) throw new DerError(`the extension ${identifier} limits the CRL; ${complete}`, element.start);
  }
}
