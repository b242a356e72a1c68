import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { children, DerError, readAll } from '../../src/asn1/reader.ts';
import { hashAlgorithmIdentifier } from '../../src/cms/algorithm-identifier.ts';
import { areAttributes } from '../../src/cms/attributes-as-content.ts';
import { beginsAsSignedData, readSignedData, type ReadSignedData } from '../../src/cms/read-signed-data.ts';
import { readSignerInfo } from '../../src/cms/read-signer-info.ts';
import { setWith, signedData, type SignedDataParts } from '../../src/cms/signed-data.ts';
import type { Fault } from '../../src/faults.ts';
import type { Refusal } from '../../src/result-codes.ts';
import { cmsFormat } from '../../src/signatures/cms/cms.ts';
import { earlierSignatures } from '../../src/signatures/cms/earlier-signatures.ts';
import { joined, preparedCms, signedBy, signingOf, softwareSigner, valueOf } from './software-signer.ts';

const [first, second] = [softwareSigner('first'), softwareSigner('second')];
const content = Buffer.from('what is signed');
const parts = readSignedData(bytesInMemory(joined(signedBy(first, content))));
const [signerInfo = new Uint8Array()] = parts.signerInfos;
const cms = (more: Partial<SignedDataParts> = {}): Buffer => joined(signedData({ ...parts, content: [content], ...more }));
const crl = der.sequence(der.utf8String('a CRL'));
/** A CertificateChoices or RevocationInfoChoice with this tag. */
const choice = (tagNumber: number): Uint8Array => der.implicitConstructed(tagNumber, der.sequence());

/** The fields of a SignedData. */
function fieldsOf(bytes: Uint8Array): Uint8Array[] {
  const [, wrapped] = children(readAll(bytes));
  const [body] = wrapped === undefined ? [] : children(wrapped);
  return body === undefined ? [] : children(body).map(({ raw }) => raw);
}
const withFields = (fields: readonly Uint8Array[]): Uint8Array =>
  der.sequence(der.oid(oids.signedData), der.explicit(0, der.sequence(...fields)));

describe('the version of a SignedData (RFC 5652 §5.1)', () => {
  const versionOf = (more: Partial<SignedDataParts>): number | undefined => fieldsOf(cms(more))[0]?.[2];
  const indefinite = Buffer.concat([Buffer.of(0x30, 0x80, 2, 1, 3), Buffer.alloc(2)]);

  it.each<[number, string, Partial<SignedDataParts>]>([
    [1, 'usual parts', {}],
    [1, 'a CRL', { revocationData: [crl] }],
    [3, 'another content type', { contentType: '1.2.3' }],
    [3, 'attribute certificates of version 1', { certificates: [choice(1)] }],
    [4, 'attribute certificates of version 2', { certificates: [choice(1), choice(2)] }],
    [5, 'other certificates', { certificates: [choice(2), choice(3)] }],
    [5, 'other revocation data', { revocationData: [crl, choice(1)] }],
    [3, 'a signer by the identifier of its key', { signerInfos: [signerInfo, der.sequence(der.integer(3))] }],
    [3, 'one of indefinite length', { signerInfos: [indefinite] }],
    [3, 'one of many octets', { signerInfos: [der.sequence(der.integer(3), der.octetString(new Uint8Array(300)))] }],
    [1, 'a long one by issuer and serial number', { signerInfos: [der.sequence(der.integer(1), der.octetString(new Uint8Array(300)))] }],
  ])('is %d with %s', (version, _what, more) => {
    expect(versionOf(more)).toBe(version);
  });

  it('is between 1 and 5 where it is read', () => {
    const [, ...others] = fieldsOf(cms());
    const read = (version: Uint8Array): unknown => readSignedData(bytesInMemory(withFields([version, ...others])));
    for (const version of [1, 2, 3, 4, 5]) expect(() => read(der.integer(version))).not.toThrow();
    for (const version of [
      der.integer(0),
      der.integer(6),
      der.integer(256),
      der.tagged(2, Uint8Array.of(0xff)),
      der.tagged(2, Uint8Array.of(0, 1)),
    ])
      expect(() => read(version)).toThrow('unknown version of SignedData');
  });
});

it('the SignerInfo of a signature names its signer by issuer and serial number, and has version 1 (RFC 5652 §5.3)', () => {
  const [version, signer] = children(readAll(signerInfo));
  expect([version?.raw, signer?.tag]).toEqual([Buffer.from(der.integer(1)), 0x30]);
});

describe('a SignedData', () => {
  it('is known by its first octets, of any length', () => {
    const begins = (...octets: number[]): boolean =>
      beginsAsSignedData(bytesInMemory(Buffer.concat([Buffer.from(octets), der.oid(oids.signedData)])));
    expect([begins(0x30, 0x0b), begins(0x30, 0x80), begins(0x30, 0x82, 1, 0), begins(0x30, 0x84, 0, 0, 1, 0)]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([begins(0x31, 0x0b), begins(0x30), begins(0x30, 0x82, 1), begins()]).toEqual([false, false, false, false]);
    expect(beginsAsSignedData(bytesInMemory(der.sequence(der.oid(oids.data))))).toBe(false);
  });

  it('is the content of a ContentInfo of its type', () => {
    const [, wrapped = readAll(der.sequence())] = children(readAll(cms()));
    expect(() => readSignedData(bytesInMemory(der.sequence(der.oid('1.2.840.113549.1.7.3'), wrapped.raw)))).toThrow('not a SignedData');
  });

  it('has content of any type with an OID of up to 128 octets', () => {
    const typed = (octets: number): ReadSignedData => {
      const [version = content, digests = content, , ...others] = fieldsOf(cms());
      const type = der.tagged(6, Uint8Array.of(42, ...Array.from({ length: octets - 1 }, () => 1)));
      return readSignedData(bytesInMemory(withFields([version, digests, der.sequence(type), ...others])));
    };
    expect(typed(128).contentType).toMatch(/^1\.2\.1\.1\./);
    expect(() => typed(129)).toThrow('not an OBJECT IDENTIFIER');
  });

  it('has one element behind the value of a SignerInfo at most', () => {
    const fields = children(readAll(signerInfo)).map(({ raw }) => raw);
    const unsigned = der.implicitConstructed(1, der.sequence(der.oid('1.2.3'), der.set()));
    expect(readSignerInfo(der.sequence(...fields, unsigned)).signature).toEqual(readSignerInfo(signerInfo).signature);
    expect(() => readSignerInfo(der.sequence(...fields, unsigned, unsigned))).toThrow(DerError);
    expect(() => readSignerInfo(Buffer.concat([signerInfo, Buffer.of(5, 0)]))).toThrow(DerError);
  });

  it('has sets in the order of DER where something is added, and as they were where nothing is', () => {
    const [low, middle, high] = [Uint8Array.of(1), Uint8Array.of(2), Uint8Array.of(3)];
    expect(setWith([high, low], [middle])).toEqual([low, middle, high]);
    expect(setWith([high, low], [low])).toEqual([high, low]);
    expect(setWith([], [])).toEqual([]);
  });
});

it('signed attributes are known by the tags that they can have, and by their digest', () => {
  const attributes = Buffer.from(readSignerInfo(signerInfo).signedAttributes ?? []);
  const tagged = (tag: number): boolean => areAttributes(bytesInMemory(Buffer.concat([Buffer.of(tag), attributes.subarray(1)])));
  expect([0x31, 0xa0].map(tagged)).toEqual([true, true]);
  expect([0x30, 0xa1, 0x24, 0x04, 0x11].map(tagged)).toEqual([false, false, false, false, false]);
  expect(areAttributes(bytesInMemory(der.set()))).toBe(false);
});

describe('a document to be co-signed', () => {
  it.each<[string, (count: number) => Partial<SignedDataParts>]>([
    ['certificates', (count) => ({ certificates: Array.from({ length: count }, () => crl) })],
    ['revocation data', (count) => ({ revocationData: Array.from({ length: count }, () => crl) })],
    ['signatures', (count) => ({ signerInfos: Array.from({ length: count }, () => signerInfo) })],
  ])('has 500 %s at most', (_what, many) => {
    expect(earlierSignatures(cms(many(500)))).toBeDefined();
    expect(() => earlierSignatures(cms(many(501)))).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }) as Refusal);
  });

  it.each<[string, Partial<SignedDataParts>]>([
    ['another certificate', { certificates: [...parts.certificates, second.certificate.der] }],
    ['a certificate less', { certificates: [] }],
    ['revocation data', { revocationData: [crl] }],
    ['another signature', { signerInfos: [signerInfo, signerInfo] }],
    ['another hash', { digestAlgorithms: [...parts.digestAlgorithms, hashAlgorithmIdentifier('sha512')] }],
    ['another content type', { contentType: '1.2.3' }],
    ['no content', { content: undefined }],
  ])('is not completed if it meanwhile has %s', (_what, more) => {
    const prepared = preparedCms(second, cms(), { coSigning: 'UNCHECKED' });
    const complete = (document: Uint8Array): unknown =>
      cmsFormat.complete({ ...prepared, contents: [document] }, valueOf(second, prepared), signingOf(second));
    expect(() => complete(cms())).not.toThrow();
    expect(() => complete(cms(more))).toThrow(expect.objectContaining({ code: 'CONTENT_CHANGED' }) as Fault);
  });
});
