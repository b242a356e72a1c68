import { createHash } from 'node:crypto';
import { oids } from '../asn1/object-identifiers.ts';
import { readTime } from '../asn1/read-time.ts';
import { children, DerError, readAll, readObjectIdentifier } from '../asn1/reader.ts';
import type { DerElement } from '../asn1/reader.ts';

/** What this service needs to know of a certificate (RFC 5280 §4.1). The byte fields share the memory of `der`. */
export interface ParsedCertificate {
  readonly der: Uint8Array;
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  /** DER of the Name. */
  readonly issuer: Uint8Array;
  /** DER of the Name. */
  readonly subject: Uint8Array;
  /** DER of the SubjectPublicKeyInfo. */
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly subjectKeyIdentifier?: Uint8Array;
  /** Lower-case hexadecimal. */
  readonly sha1Fingerprint: string;
  readonly isCa: boolean;
}

const tagOf = { integer: 0x02, bitString: 0x03, octetString: 0x04, boolean: 0x01, sequence: 0x30, version: 0xa0, extensions: 0xa3 } as const;

/**
 * Reads an X.509 certificate of any version (RFC 5280 §4.1). Signature and validity are not judged.
 * @throws {DerError} for anything else, and for bytes after it.
 */
export function parseCertificate(der: Uint8Array): ParsedCertificate {
  const outer = new Fields(expectTag(readAll(der), tagOf.sequence));
  const tbs = new Fields(outer.next(tagOf.sequence));
  const algorithm = outer.next(tagOf.sequence);
  outer.next(tagOf.bitString);
  outer.end();

  const isVersion3 = readVersion(tbs) === 2;
  const serialNumber = tbs.next(tagOf.integer).content;
  // RFC 5280 4.1.1.2: a signature algorithm outside of what is signed must be the one inside.
  if (Buffer.compare(tbs.next(tagOf.sequence).raw, algorithm.raw) !== 0) throw new DerError('two different signature algorithms', algorithm.start);
  const issuer = tbs.next(tagOf.sequence).raw;
  const validity = new Fields(tbs.next(tagOf.sequence));
  const notBefore = readTime(validity.next());
  const notAfter = readTime(validity.next());
  validity.end();
  const subject = tbs.next(tagOf.sequence).raw;
  const subjectPublicKeyInfo = tbs.next(tagOf.sequence).raw;
  const extensions = isVersion3 ? readExtensions(tbs) : new Map<string, Uint8Array>();
  const keyIdentifier = extensions.get(oids.subjectKeyIdentifier);
  return {
    der,
    serialNumber,
    issuer,
    subject,
    subjectPublicKeyInfo,
    notBefore,
    notAfter,
    ...(keyIdentifier === undefined ? {} : { subjectKeyIdentifier: expectTag(readAll(keyIdentifier), tagOf.octetString).content }),
    sha1Fingerprint: createHash('sha1').update(der).digest('hex'),
    isCa: readIsCa(extensions.get(oids.basicConstraints)),
  };
}

/**
 * Reads a certificate from DER, or from the first `CERTIFICATE` of a PEM text (RFC 7468 §5), given as bytes or as a string.
 * @throws {DerError}
 */
export function parseCertificateText(input: string | Uint8Array): ParsedCertificate {
  if (typeof input !== 'string' && input[0] === tagOf.sequence) return parseCertificate(input);
  const text = typeof input === 'string' ? input : Buffer.from(input).toString('latin1');
  const [, base64] = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(text) ?? [];
  if (base64 === undefined) throw new DerError('neither a certificate in DER nor one in PEM', 0);
  return parseCertificate(Buffer.from(base64, 'base64'));
}

/** The fields of a SEQUENCE, taken one after the other. */
class Fields {
  readonly #parts: DerElement[];
  readonly #start: number;
  #at = 0;

  constructor(element: DerElement) {
    this.#parts = children(element);
    this.#start = element.start;
  }

  /** The next field's tag. */
  get tag(): number | undefined {
    return this.#parts[this.#at]?.tag;
  }

  next(tag?: number): DerElement {
    const part = this.#parts[this.#at];
    if (part === undefined) throw new DerError('a field is absent', this.#start);
    this.#at += 1;
    return tag === undefined ? part : expectTag(part, tag);
  }

  end(): void {
    if (this.tag !== undefined) throw new DerError('a field too many', this.#start);
  }
}

function expectTag(element: DerElement, tag: number): DerElement {
  if (element.tag !== tag) throw new DerError(`the tag ${element.tag} instead of ${tag}`, element.start);
  return element;
}

function readVersion(tbs: Fields): number {
  if (tbs.tag !== tagOf.version) return 0;
  const version = expectTag(readAll(tbs.next().content), tagOf.integer).content;
  const [number = 0] = version;
  if (version.length !== 1 || number > 2) throw new DerError('an unknown version of X.509', 0);
  return number;
}

/** The extensions' values by their identifiers; a repeated extension is refused (RFC 5280 §4.2). */
function readExtensions(tbs: Fields): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  while (tbs.tag !== undefined && tbs.tag !== tagOf.extensions) tbs.next();
  if (tbs.tag === undefined) return found;
  for (const element of children(expectTag(readAll(tbs.next().content), tagOf.sequence))) {
    const extension = new Fields(expectTag(element, tagOf.sequence));
    const identifier = readObjectIdentifier(extension.next());
    if (extension.tag === tagOf.boolean) extension.next();
    if (found.has(identifier)) throw new DerError(`the extension ${identifier} stands twice`, element.start);
    found.set(identifier, extension.next(tagOf.octetString).content);
    extension.end();
  }
  tbs.end();
  return found;
}

function readIsCa(basicConstraints: Uint8Array | undefined): boolean {
  if (basicConstraints === undefined) return false;
  const [first] = children(expectTag(readAll(basicConstraints), tagOf.sequence));
  return first?.tag === tagOf.boolean && first.content[0] === 0xff;
}
