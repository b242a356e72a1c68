import { createHash, type KeyObject } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { children, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import type { ParsedCertificate } from '../../certificates/x509.ts';
import type { Content } from '../../documents/content.ts';
import { contentPieces } from '../../documents/content-pieces.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { valueVerifies } from '../verify/verify-value.ts';

export interface ExpectedSignature {
  readonly algorithm: SignatureAlgorithm;
  readonly certificate: ParsedCertificate;
  readonly publicKey: KeyObject;
  readonly contentDigest: Uint8Array;
  readonly detached: boolean;
}

/**
 * Reads a finished SignedData back from its bytes and checks it before it leaves: content digest, message-digest, the certificate that
 * signing-certificate-v2 binds, and the value over the signed attributes. @throws {Error} where anything does not hold.
 */
export function verifySignedData(pieces: readonly Content[], expected: ExpectedSignature): void {
  const bytes = Buffer.concat(pieces.flatMap((piece) => Array.from(contentPieces(piece), (part) => Buffer.from(part))));
  const [type, wrapped] = children(readAll(bytes));
  must(type !== undefined && readObjectIdentifier(type) === oids.signedData, 'is no SignedData');
  const [, , encapsulated, certificates, signerInfos] = children(only(wrapped));
  const [, content] = children(present(encapsulated));
  must((content === undefined) === expected.detached, 'has content where it should have none, or the other way round');
  const { hash } = expected.algorithm;
  if (content !== undefined) {
    const digest = createHash(hash).update(only(content).content).digest();
    must(digest.equals(expected.contentDigest), 'holds other content than it signs');
  }
  must(
    children(present(certificates)).some(({ raw }) => same(raw, expected.certificate.der)),
    'lacks the signer certificate',
  );
  const [, identifier, , attributes, , value] = children(only(signerInfos));
  const [issuer, serialNumber] = children(present(identifier));
  must(
    same(present(issuer).raw, expected.certificate.issuer) && same(present(serialNumber).content, expected.certificate.serialNumber),
    'names another signer',
  );
  const list = children(present(attributes));
  must(same(attributeValue(list, oids.messageDigest).content, expected.contentDigest), 'has another message-digest');
  must(bindsCertificate(attributeValue(list, oids.signingCertificateV2), expected.certificate), 'binds another certificate');
  const data = der.tagged(0x31, present(attributes).content);
  const digest = createHash(hash).update(data).digest();
  must(valueVerifies(expected.publicKey, expected.algorithm, { digest, data }, present(value).content), 'has a value that does not verify');
}

function bindsCertificate(signingCertificate: DerElement, certificate: ParsedCertificate): boolean {
  const [list] = children(signingCertificate);
  const parts = children(only(list));
  const hash = parts.find(({ tag }) => tag === 0x04);
  return (
    hash !== undefined &&
    ['sha256', 'sha384', 'sha512'].some((name) => createHash(name).update(certificate.der).digest().equals(hash.content))
  );
}

function attributeValue(attributes: readonly DerElement[], type: string): DerElement {
  for (const attribute of attributes) {
    const [oid, values] = children(attribute);
    if (oid !== undefined && values !== undefined && readObjectIdentifier(oid) === type) return only(values);
  }
  throw new Error(`the signature lacks the attribute ${type}`);
}

function only(element: DerElement | undefined): DerElement {
  const inner = children(present(element));
  must(inner.length === 1, 'has not exactly one of what it needs');
  return present(inner[0]);
}

function present(element: DerElement | undefined): DerElement {
  if (element === undefined) throw new Error('the signature ends early');
  return element;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(`the signature ${otherwise}`);
}
