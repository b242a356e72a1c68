import { hash as digest } from 'node:crypto';
import { oids } from '../../asn1/object-identifiers.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import { expectTag, SequenceFields } from '../../asn1/sequence-fields.ts';
import { isWellFormedDer } from '../../asn1/well-formed.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { keyHash } from './ocsp-response.ts';

/** Real requests have one or two hundred octets. */
export const maxOcspRequestBytes = 8 * 1024;
/** How many certificates one request may name. */
export const maxCertIds = 16;
/** RFC 9654 2.1. */
const maxNonceBytes = 128;
/** RFC 5280 4.1.2.2; a sign octet may come first. */
const maxSerialNumberBytes = 20;

/** CertID (RFC 6960 4.1.1): identifies the requested certificate. */
export interface CertId {
  /** As received, to be sent back. */
  readonly der: Uint8Array;
  /** Undefined for an unknown hash function. */
  readonly hash: CertIdHash | undefined;
  readonly issuerNameHash: Uint8Array;
  readonly issuerKeyHash: Uint8Array;
  /** In the form of `serialNumberText`. */
  readonly serialNumber: string;
}

export interface OcspRequest {
  readonly certIds: readonly CertId[];
  /** 1 to 128 octets. */
  readonly nonce?: Uint8Array;
}

const tagOf = { boolean: 0x01, integer: 0x02, octetString: 0x04, nullValue: 0x05, sequence: 0x30 } as const;
const contextTag = (number: number): number => 0xa0 | number;

/** Hash functions of CertIDs, by OID, with the length of their values. */
const certIdHashes = {
  [oids.sha1]: { name: 'sha1', bytes: 20 },
  [oids.sha256]: { name: 'sha256', bytes: 32 },
  [oids.sha384]: { name: 'sha384', bytes: 48 },
  [oids.sha512]: { name: 'sha512', bytes: 64 },
} as const;
export const certIdHashNames = ['sha1', 'sha256', 'sha384', 'sha512'] as const;
export type CertIdHash = (typeof certIdHashNames)[number];
const hashByOid: ReadonlyMap<string, { readonly name: CertIdHash; readonly bytes: number }> = new Map(Object.entries(certIdHashes));

/**
 * Reads an OCSPRequest (RFC 6960 4.1.1). A signature is not checked, since anyone may ask.
 * @throws {DerError} for anything else, for more than 16 certificates, for a nonce of a length that
 * RFC 9654 does not allow, and for an unknown critical extension
 */
export function parseOcspRequest(bytes: Uint8Array): OcspRequest {
  if (bytes.length > maxOcspRequestBytes) throw new DerError(`a request of more than ${maxOcspRequestBytes} octets`, 0);
  const outer = new SequenceFields(expectTag(readAll(bytes), tagOf.sequence));
  const request = new SequenceFields(outer.next(tagOf.sequence));
  if (outer.tag === contextTag(0)) checkWellFormed(outer.next());
  outer.end();

  if (request.tag === contextTag(0)) checkVersion(request.next());
  if (request.tag === contextTag(1)) checkWellFormed(request.next());
  const certIds = readRequestList(request.next(tagOf.sequence));
  const nonce = request.tag === contextTag(2) ? readNonce(request.next()) : undefined;
  request.end();
  return { certIds, ...(nonce === undefined ? {} : { nonce }) };
}

function checkWellFormed({ content, start }: DerElement): void {
  if (!isWellFormedDer(content)) throw new DerError('not one element in DER', start);
}

/** Version 1 is the default, but some clients encode it. */
function checkVersion({ content }: DerElement): void {
  const number = expectTag(readAll(content), tagOf.integer);
  if (number.content.length !== 1 || number.content[0] !== 0) throw new DerError('unknown OCSP version', number.start);
}

function readRequestList(list: DerElement): CertId[] {
  const requests = children(list);
  if (requests.length === 0 || requests.length > maxCertIds) throw new DerError(`${requests.length} certificates`, list.start);
  return requests.map((one) => {
    const fields = new SequenceFields(expectTag(one, tagOf.sequence));
    const certId = readCertId(fields.next(tagOf.sequence));
    if (fields.tag === contextTag(0)) readExtensions(fields.next());
    fields.end();
    return certId;
  });
}

function readCertId(element: DerElement): CertId {
  const fields = new SequenceFields(element);
  const hash = readHash(fields.next(tagOf.sequence));
  const issuerNameHash = fields.next(tagOf.octetString).content;
  const issuerKeyHash = fields.next(tagOf.octetString).content;
  const serialNumber = fields.next(tagOf.integer);
  fields.end();
  const length = serialNumber.content.length - (serialNumber.content[0] === 0 ? 1 : 0);
  if (length > maxSerialNumberBytes || !isWellFormedDer(serialNumber.raw)) throw new DerError('not a serial number', serialNumber.start);
  if (hash !== undefined && (issuerNameHash.length !== hash.bytes || issuerKeyHash.length !== hash.bytes))
    throw new DerError('wrong hash length', element.start);
  return { der: element.raw, hash: hash?.name, issuerNameHash, issuerKeyHash, serialNumber: textOf(serialNumber.content) };
}

/**
 * Serial numbers are not negative; a negative one gets a text that matches nothing in the state
 * store.
 */
function textOf(content: Uint8Array): string {
  const hexadecimal = Buffer.from(content.buffer, content.byteOffset, content.length).toString('hex');
  return (content[0] ?? 0) >= 0x80 ? `-${hexadecimal}` : serialNumberText(hexadecimal);
}

function readHash(algorithm: DerElement): { readonly name: CertIdHash; readonly bytes: number } | undefined {
  const fields = new SequenceFields(algorithm);
  const hash = hashByOid.get(readObjectIdentifier(fields.next()));
  if (hash === undefined) {
    checkWellFormed({ ...algorithm, content: algorithm.raw });
    return undefined;
  }
  // NULL or nothing (RFC 5754 §2).
  if (fields.tag !== undefined && fields.next(tagOf.nullValue).content.length > 0) throw new DerError('NULL with content', algorithm.start);
  fields.end();
  return hash;
}

function readNonce(element: DerElement): Uint8Array | undefined {
  const value = readExtensions(element).get(oids.ocspNonce);
  if (value === undefined) return undefined;
  const nonce = expectTag(readAll(value), tagOf.octetString).content;
  if (nonce.length === 0 || nonce.length > maxNonceBytes) throw new DerError(`nonce of ${nonce.length} octets`, element.start);
  return nonce;
}

/**
 * Extensions that may be critical: they are honoured, or the response complies with them anyway.
 */
const understood: ReadonlySet<string> = new Set([oids.ocspNonce, oids.ocspAcceptableResponses]);

/**
 * Returns extension values by OID. Unknown extensions are ignored unless critical (RFC 6960 4.4).
 */
function readExtensions({ content }: DerElement): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  const list = expectTag(readAll(content), tagOf.sequence);
  for (const one of children(list)) {
    const fields = new SequenceFields(expectTag(one, tagOf.sequence));
    const oid = readObjectIdentifier(fields.next());
    const isCritical = fields.tag === tagOf.boolean && readBoolean(fields.next());
    if (found.has(oid)) throw new DerError(`duplicate extension ${oid}`, one.start);
    if (isCritical && !understood.has(oid)) throw new DerError(`unknown critical extension ${oid}`, one.start);
    found.set(oid, fields.next(tagOf.octetString).content);
    fields.end();
  }
  if (found.size === 0) throw new DerError('empty list of extensions', list.start);
  return found;
}

/** Accepts an encoded FALSE, although it is the default. */
function readBoolean({ content, start }: DerElement): boolean {
  const [octet] = content;
  if (content.length !== 1 || (octet !== 0x00 && octet !== 0xff)) throw new DerError('not a BOOLEAN', start);
  return octet === 0xff;
}

/** Hashes of an authority's name and key, as they appear in CertIDs (RFC 6960 4.1.1). */
export class IssuerHashes {
  readonly #hashes: ReadonlyMap<CertIdHash, { readonly name: Uint8Array; readonly key: Uint8Array }>;

  constructor({ subject, subjectPublicKeyInfo }: Pick<Certificate, 'subject' | 'subjectPublicKeyInfo'>) {
    this.#hashes = new Map(
      certIdHashNames.map((name) => [name, { name: digest(name, subject, 'buffer'), key: keyHash(subjectPublicKeyInfo, name) }]),
    );
  }

  /** Whether the CertID names a certificate of this authority. */
  matches({ hash: algorithm, issuerNameHash, issuerKeyHash }: CertId): boolean {
    const known = algorithm === undefined ? undefined : this.#hashes.get(algorithm);
    return known !== undefined && Buffer.compare(known.name, issuerNameHash) === 0 && Buffer.compare(known.key, issuerKeyHash) === 0;
  }
}

/** Octets in the serial numbers that this service assigns (contract §7). */
const ownSerialNumberBytes = 16;

/**
 * Returns a hexadecimal serial number without leading zero octets, so that each number has exactly
 * one text.
 */
export function serialNumberText(hexadecimal: string): string {
  return hexadecimal.replace(/^(?:00)+(?=..)/, '');
}

/**
 * Returns the forms in which the state store may hold it: without leading zeros, or as the 16
 * random octets.
 */
export function storedForms(text: string): string[] {
  const padded = text.padStart(ownSerialNumberBytes * 2, '0');
  return padded === text ? [text] : [text, padded];
}
