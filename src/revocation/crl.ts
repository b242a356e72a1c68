import { oids } from '../asn1/object-identifiers.ts';
import { readTime } from '../asn1/read-time.ts';
import { readWhileAlive } from '../asn1/read-once.ts';
import { children, DerError, readAll, readElement, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { canonicalSequence, type CanonicalName } from '../x509/path/canonical-name.ts';
import { generalNames, type GeneralName } from '../x509/path/general-names.ts';
import type { PathCertificate } from '../x509/path/path-certificate.ts';
import { verificationRule } from '../x509/signature-identifier.ts';
import { dataVerifies } from '../verification/verify-value.ts';
import { readExtensions, type CrlExtension } from './crl-extensions.ts';
import { RevokedEntries, type FoundEntry } from './revoked-entries.ts';

/**
 * A CRL (RFC 5280 §5) as revocation checks need it. The byte fields share the memory of the input.
 */
export interface Crl {
  readonly der: Uint8Array;
  readonly issuer: CanonicalName;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date | undefined;
  readonly authorityKeyIdentifier: Uint8Array | undefined;
  /** Certificates that it covers (issuingDistributionPoint, §5.2.5). */
  readonly scope: CrlScope;
  /**
   * Why it cannot be used by itself: an unknown critical extension, only some reasons, entries of
   * other issuers, a delta.
   */
  readonly limit: string | undefined;
  /** Whether the key of this certificate signed the CRL. */
  isSignedBy(signer: PathCertificate): boolean;
  /**
   * Returns the entry of a serial number (content octets of its INTEGER), unless an entry up to it
   * is malformed.
   */
  lookUp(serialNumber: Uint8Array): FoundEntry;
  /** Whether both were determined before, for all of these. */
  knows(asked: { readonly certificate: Pick<PathCertificate, 'serialNumber'>; readonly issuers: readonly PathCertificate[] }): boolean;
  /** Takes over what another thread has determined. */
  learnSigner(signer: PathCertificate, isSigned: boolean): void;
  learnEntry(serialNumber: Uint8Array, found: FoundEntry): void;
}

export interface CrlScope {
  readonly userCertificates: boolean;
  readonly authorityCertificates: boolean;
  /** Undefined: all certificates of the issuer. */
  readonly distributionPoint: readonly GeneralName[] | undefined;
}

const tagOf = {
  integer: 0x02,
  bitString: 0x03,
  sequence: 0x30,
  extensions: 0xa0,
} as const;
const timeTags: ReadonlySet<number | undefined> = new Set([0x17, 0x18]);
const issuingDistributionPoint = '2.5.29.28';
const deltaIndicator = '2.5.29.27';

/**
 * Reads a CRL. The same bytes give the same object while it is in use. Signature, times and scope
 * are not checked. `digest`: SHA-256 of the bytes in Base64, where it is known.
 * @throws {DerError} for anything but a CRL
 */
export const readCrl: (der: Uint8Array, digest?: string) => Crl = readWhileAlive(read);

function read(der: Uint8Array): Crl {
  const outer = new SequenceFields(expectTag(readAll(der), tagOf.sequence));
  const tbsElement = outer.next(tagOf.sequence);
  const algorithm = outer.next(tagOf.sequence);
  const signature = outer.next(tagOf.bitString).content;
  outer.end();
  if (signature[0] !== 0) throw new DerError('signature is not a whole number of octets', algorithm.end);
  const fields = new TbsFields(tbsElement);
  if (fields.tag === tagOf.integer && fields.next().content[0] !== 1) throw new DerError('unknown CRL version', tbsElement.start);
  // RFC 5280 5.1.1.2: the outer signature algorithm must equal the signed one.
  if (Buffer.compare(fields.next(tagOf.sequence).raw, algorithm.raw) !== 0)
    throw new DerError('inner and outer signature algorithms differ', algorithm.start);
  const issuer = canonicalSequence(fields.next(tagOf.sequence));
  const thisUpdate = readTime(fields.next());
  const nextUpdate = timeTags.has(fields.tag) ? readTime(fields.next()) : undefined;
  const entries = fields.tag === tagOf.sequence ? new RevokedEntries(fields.next().content) : undefined;
  const extensions = fields.tag === tagOf.extensions ? readExtensions(readAll(fields.next().content)) : new Map<string, CrlExtension>();
  fields.end();
  const point = extensions.get(issuingDistributionPoint);
  const { scope, limit: scopeLimit } = point === undefined ? everything : readScope(point.value);
  const unknown = [...extensions].find(([oid, { critical }]) => critical && oid !== issuingDistributionPoint)?.[0];
  const signers = new WeakMap<PathCertificate, boolean>();
  const isSignedBy = (signer: PathCertificate): boolean => {
    const { publicKey } = signer;
    const isSigned =
      signers.get(signer) ??
      (publicKey !== undefined && dataVerifies(publicKey, verificationRule(algorithm), tbsElement.raw, signature.subarray(1)));
    signers.set(signer, isSigned);
    return isSigned;
  };
  const keyIdentifier = extensions.get(oids.authorityKeyIdentifier)?.value;
  return {
    der,
    issuer,
    thisUpdate,
    nextUpdate,
    authorityKeyIdentifier:
      keyIdentifier === undefined ? undefined : children(readAll(keyIdentifier)).find(({ tag }) => tag === 0x80)?.content,
    scope,
    limit: extensions.has(deltaIndicator)
      ? 'it is a delta CRL'
      : (scopeLimit ?? (unknown === undefined ? undefined : `unknown critical extension ${unknown}`)),
    isSignedBy,
    lookUp: (serialNumber) => entries?.lookUp(serialNumber) ?? {},
    knows: ({ certificate, issuers }) =>
      issuers.every((one) => signers.has(one)) && (entries === undefined || entries.knows(certificate.serialNumber)),
    learnSigner: (signer, isSigned) => signers.set(signer, isSigned),
    learnEntry: (serialNumber, found) => entries?.learn(serialNumber, found),
  };
}

/**
 * Reads the fields of TBSCertList one by one. The list of entries can be long and is not parsed.
 */
class TbsFields {
  readonly #content: Uint8Array;
  readonly #start: number;
  #offset = 0;

  constructor(element: DerElement) {
    this.#content = element.content;
    this.#start = element.start;
  }

  get tag(): number | undefined {
    return this.#content[this.#offset];
  }

  next(tag?: number): DerElement {
    if (this.tag === undefined) throw new DerError('missing field', this.#start);
    const element = readElement(this.#content, this.#offset);
    this.#offset = element.end;
    return tag === undefined ? element : expectTag(element, tag);
  }

  end(): void {
    if (this.tag !== undefined) throw new DerError('unexpected field', this.#start);
  }
}

const everything = {
  scope: { userCertificates: true, authorityCertificates: true, distributionPoint: undefined },
  limit: undefined,
} as const;

function readScope(value: Uint8Array): { scope: CrlScope; limit: string | undefined } {
  const fields = new SequenceFields(expectTag(readAll(value), tagOf.sequence));
  const pointName = fields.tag === 0xa0 ? children(fields.next())[0] : undefined;
  const flag = (tag: number): boolean => fields.tag === tag && fields.next().content[0] !== 0;
  const onlyUsers = flag(0x81);
  const onlyAuthorities = flag(0x82);
  const someReasons = fields.tag === 0x83;
  if (someReasons) fields.next();
  const indirect = flag(0x84);
  const onlyAttributes = flag(0x85);
  fields.end();
  const isFullName = pointName === undefined || pointName.tag === 0xa0;
  const limit = someReasons
    ? 'it covers only some reasons'
    : indirect
      ? 'it contains entries of other issuers'
      : onlyAttributes
        ? 'it covers attribute certificates only'
        : isFullName
          ? undefined
          : 'its distribution point has a relative name';
  const distributionPoint = pointName === undefined || !isFullName ? undefined : generalNames(pointName);
  return { scope: { userCertificates: !onlyAuthorities, authorityCertificates: !onlyUsers, distributionPoint }, limit };
}

/**
 * Returns the DER of a CRL that a server sent; some send PEM (RFC 7468 §6).
 * @throws {DerError} for anything else
 */
export function derOfCrl(bytes: Uint8Array): Uint8Array {
  if (bytes[0] === 0x30) return bytes;
  const [, base64] = /-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]+)-----END X509 CRL-----/.exec(Buffer.from(bytes).toString('latin1')) ?? [];
  if (base64 === undefined) throw new DerError('neither a DER CRL nor a PEM one', 0);
  return Buffer.from(base64, 'base64');
}
