import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { children, readAll } from '../../src/asn1/reader.ts';
import { readSignedData } from '../../src/cms/read-signed-data.ts';
import { readSignerInfo } from '../../src/cms/read-signer-info.ts';
import { checkSignerInfo, checkSignerInfos, SignatureBroken, type CoveredContent } from '../../src/cms/verify-signer-info.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { rsaPublicKey } from '../support/forged-values.ts';
import { joined, signedBy, signerWith, softwareSigner } from './software-signer.ts';

const signer = softwareSigner('rules');
/** The same key, another certificate; and another key. */
const stranger = softwareSigner('stranger');
const content = Buffer.from('what is signed');

const covered = (contentType: string = oids.data, bytes = content): CoveredContent => ({
  contentType,
  digestBy: (hash) => createHash(hash).update(bytes).digest(),
});

const sha256 = der.sequence(der.oid(oids.sha256));
const ecdsa = der.sequence(der.oid(oids.ecdsaWithSHA256));
const attribute = (type: string, ...values: readonly Uint8Array[]): Uint8Array => der.sequence(der.oid(type), der.setOf(values));
const digestOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const contentType = attribute(oids.contentType, der.oid(oids.data));
const messageDigest = attribute(oids.messageDigest, der.octetString(digestOf(content)));
/** ESSCertIDv2 with SHA-256, which is not written (RFC 5035 §4). */
const binding = (bytes: Uint8Array): Uint8Array =>
  attribute(oids.signingCertificateV2, der.sequence(der.sequence(der.sequence(der.octetString(digestOf(bytes))))));
const own = binding(signer.certificate.der);

const byIssuer = (issuer: Uint8Array, serialNumber: Uint8Array): Uint8Array => der.sequence(issuer, der.integer(serialNumber));
const ofSigner = byIssuer(signer.certificate.issuer, signer.certificate.serialNumber);

interface Made {
  /** Undefined: without signed attributes. */
  readonly attributes?: readonly Uint8Array[] | undefined;
  readonly signed?: Uint8Array;
  readonly identifier?: Uint8Array;
  readonly algorithm?: Uint8Array;
}

/** A SignerInfo whose value is right for what it says, whatever that is. */
function signerInfo({
  attributes = [contentType, messageDigest, own],
  signed,
  identifier = ofSigner,
  algorithm = ecdsa,
}: Made): Uint8Array {
  const set = der.setOf(attributes);
  const isBare = attributes.length === 0;
  const value = sign('sha256', signed ?? (isBare ? content : set), { key: signer.privateKey, dsaEncoding: 'der' });
  return der.sequence(
    der.integer(identifier[0] === 0x30 ? 1 : 3),
    identifier,
    sha256,
    ...(isBare ? [] : [Buffer.concat([Buffer.of(0xa0), Buffer.from(set).subarray(1)])]),
    algorithm,
    der.octetString(value),
  );
}

const check = (made: Made, about = covered()): void => {
  checkSignerInfos([signerInfo(made)], [signer.certificate.der], about);
};

describe('a SignerInfo', () => {
  it('holds where all of it is right, whoever made it', () => {
    check({});
    check({ attributes: [contentType, messageDigest] });
    check({ attributes: [] });
    const written = joined(signedBy(signer, content));
    const { signerInfos, certificates } = readSignedData(bytesInMemory(written));
    checkSignerInfos(signerInfos, certificates, covered());
  });

  it('holds for content of the type that it names, and for no other', () => {
    const list = attribute(oids.contentType, der.oid(oids.signedData));
    check({ attributes: [list, messageDigest, own] }, covered(oids.signedData));
    expect(() => check({ attributes: [list, messageDigest, own] })).toThrow('is for another content type');
    expect(() => check({}, covered(oids.signedData))).toThrow('is for another content type');
  });

  it('without signed attributes is of data alone (RFC 5652 §5.3)', () => {
    expect(() => check({ attributes: [] }, covered(oids.signedData))).toThrow('lacks the signed attributes');
  });

  it('holds for its content alone, with and without signed attributes', () => {
    const other = covered(oids.data, Buffer.from('what is not signed'));
    expect(() => check({}, other)).toThrow('does not match the content');
    expect(() => check({ attributes: [] }, other)).toThrow('has a value that does not verify');
  });

  it.each([
    ['no content-type', [messageDigest, own]],
    ['no message-digest', [contentType, own]],
    ['two values of content-type', [attribute(oids.contentType, der.oid(oids.data), der.oid(oids.data)), messageDigest]],
    ['content-type twice', [contentType, contentType, messageDigest]],
    ['message-digest twice', [contentType, messageDigest, messageDigest]],
  ])('is refused with %s', (_name, attributes) => {
    expect(() => check({ attributes })).toThrow(/exactly one value|not well formed/);
  });

  it('is refused if the value is of other attributes', () => {
    expect(() => check({ signed: der.setOf([contentType, messageDigest]) })).toThrow('has a value that does not verify');
  });

  it('binds its certificate where it binds any: the first of each list, by the hash that it names', () => {
    expect(() => check({ attributes: [contentType, messageDigest, binding(stranger.certificate.der)] })).toThrow(
      'binds another certificate',
    );
    const withHash = (hash: string, named: Uint8Array): Uint8Array => {
      const digest = createHash(hash).update(signer.certificate.der).digest();
      return attribute(oids.signingCertificateV2, der.sequence(der.sequence(der.sequence(named, der.octetString(digest)))));
    };
    const sha512 = der.sequence(der.oid(oids.sha512));
    check({ attributes: [contentType, messageDigest, withHash('sha512', sha512)] });
    expect(() => check({ attributes: [contentType, messageDigest, withHash('sha256', sha512)] })).toThrow('binds another certificate');
    const version1 = (hash: string): Uint8Array => {
      const digest = createHash(hash).update(signer.certificate.der).digest();
      return attribute(oids.signingCertificate, der.sequence(der.sequence(der.sequence(der.octetString(digest)))));
    };
    check({ attributes: [contentType, messageDigest, version1('sha1')] });
    expect(() => check({ attributes: [contentType, messageDigest, version1('sha256')] })).toThrow('binds another certificate');
    // One that is right does not make up for one that is wrong.
    expect(() => check({ attributes: [contentType, messageDigest, own, version1('sha256')] })).toThrow('binds another certificate');
    const empty = attribute(oids.signingCertificateV2, der.sequence(der.sequence()));
    expect(() => check({ attributes: [contentType, messageDigest, empty] })).toThrow('binds another certificate');
  });

  it("has its signer's certificate beside it, by issuer and serial number or by the key's identifier", () => {
    const { issuer, serialNumber } = signer.certificate;
    const keyIdentifier = signer.certificate.subjectKeyIdentifier ?? new Uint8Array();
    expect(keyIdentifier.length).toBeGreaterThan(0);
    const byKey = (octets: Uint8Array): Uint8Array => Buffer.concat([Buffer.of(0x80, octets.length), octets]);
    check({ identifier: byKey(keyIdentifier) });
    // A certificate without an identifier is beside it.
    const [tbs, ...signed] = children(readAll(stranger.certificate.der));
    const bare = der.sequence(
      der.sequence(
        ...children(tbs ?? readAll(der.sequence()))
          .slice(0, 7)
          .map(({ raw }) => raw),
      ),
      ...signed.map(({ raw }) => raw),
    );
    expect(readCertificate(bare).subjectKeyIdentifier).toBeUndefined();
    checkSignerInfos([signerInfo({ identifier: byKey(keyIdentifier) })], [bare, signer.certificate.der], covered());
    const strangers = stranger.certificate.subjectKeyIdentifier ?? new Uint8Array();
    for (const identifier of [
      byKey(strangers),
      byKey(new Uint8Array()),
      byIssuer(stranger.certificate.issuer, serialNumber),
      byIssuer(issuer, Uint8Array.of(6)),
    ])
      expect(() => check({ identifier })).toThrow("comes without its signer's certificate");
    expect(() => checkSignerInfos([signerInfo({})], [], covered())).toThrow("comes without its signer's certificate");
    const otherChoice = Buffer.from(byKey(keyIdentifier)).fill(0x81, 0, 1);
    expect(() => check({ identifier: otherChoice })).toThrow('is not well formed');
    // What is no certificate is passed over.
    checkSignerInfos([signerInfo({})], [Buffer.of(0x30, 0), stranger.certificate.der, signer.certificate.der], covered());
  });

  it('is refused under another key, by an algorithm of another kind of key, and by one that is not known', () => {
    const info = readSignerInfo(signerInfo({}));
    const { certificate, publicKey } = signer;
    checkSignerInfo(info, covered(), certificate, publicKey);
    expect(() => checkSignerInfo(info, covered(), certificate, stranger.publicKey)).toThrow('has a value that does not verify');
    const rsa = softwareSigner('rsa', 'rsa');
    expect(() => checkSignerInfo(info, covered(), certificate, rsa.publicKey)).toThrow("does not match the signer's key");
    const withRsa = der.sequence(der.oid(oids.sha256WithRSAEncryption), der.nullValue());
    expect(() => check({ algorithm: withRsa })).toThrow("does not match the signer's key");
    expect(() => check({ algorithm: der.sequence(der.oid('1.2.3')) })).toThrow('uses an unsupported algorithm');
  });

  it('by Ed25519 holds over its attributes alone (RFC 8419)', () => {
    const edwards = signerWith(generateKeyPairSync('ed25519').privateKey, 'Ed25519');
    const { issuer, serialNumber, der: certificate } = edwards.certificate;
    const set = der.setOf([contentType, messageDigest]);
    const made = (
      signed: Uint8Array,
      algorithm: string = oids.ed25519,
      isBare = false,
      attributes = set,
      hash = sha256,
    ): readonly string[] => {
      const info = der.sequence(
        der.integer(1),
        byIssuer(issuer, serialNumber),
        hash,
        ...(isBare ? [] : [Buffer.concat([Buffer.of(0xa0), Buffer.from(attributes).subarray(1)])]),
        der.sequence(der.oid(algorithm)),
        der.octetString(sign(null, signed, edwards.privateKey)),
      );
      return checkSignerInfos([info], [certificate], covered());
    };
    expect(made(set)).toEqual([]);
    const old = der.setOf([contentType, attribute(oids.messageDigest, der.octetString(createHash('sha1').update(content).digest()))]);
    expect(made(old, oids.ed25519, false, old, der.sequence(der.oid('1.3.14.3.2.26')))).toEqual(['signature 1 of 1 uses SHA-1']);
    expect(() => made(der.setOf([contentType]))).toThrow('has a value that does not verify');
    expect(() => made(content)).toThrow('has a value that does not verify');
    expect(() => made(content, oids.ed25519, true)).toThrow(SignatureBroken);
    expect(() => made(set, oids.ecdsaWithSHA256)).toThrow("does not match the signer's key");
    expect(() => made(set, oids.sha256WithRSAEncryption)).toThrow("does not match the signer's key");
  });

  it('tells what is obsolete in it: the hash of its content, or the one of its value', () => {
    const sha1 = der.sequence(der.oid('1.3.14.3.2.26'));
    const ecdsaWithSha1 = der.sequence(der.oid('1.2.840.10045.4.1'));
    const made = (contentHash: 'sha1' | 'sha256', valueHash: 'sha1' | 'sha256'): readonly string[] => {
      const digest = attribute(oids.messageDigest, der.octetString(createHash(contentHash).update(content).digest()));
      const set = der.setOf([contentType, digest]);
      const info = der.sequence(
        der.integer(1),
        ofSigner,
        contentHash === 'sha1' ? sha1 : sha256,
        Buffer.concat([Buffer.of(0xa0), Buffer.from(set).subarray(1)]),
        valueHash === 'sha1' ? ecdsaWithSha1 : ecdsa,
        der.octetString(sign(valueHash, set, { key: signer.privateKey, dsaEncoding: 'der' })),
      );
      return checkSignerInfos([info], [signer.certificate.der], covered());
    };
    const obsolete = ['signature 1 of 1 uses SHA-1'];
    expect([made('sha256', 'sha256'), made('sha1', 'sha256'), made('sha256', 'sha1')]).toEqual([[], obsolete, obsolete]);
    const within = (hashWithin: 'sha1' | 'sha256'): readonly string[] =>
      checkSignerInfos([signerInfo({})], [signer.certificate.der], { ...covered(), hashWithin });
    expect([within('sha256'), within('sha1')]).toEqual([[], obsolete]);
  });

  it('is not verified on the event loop where that takes long, or reading the certificates beside it', () => {
    const heavy = der.sequence(der.concat(...Array.from({ length: 20_000 }, () => der.sequence())));
    const certificates = [signer.certificate.der, heavy];
    expect(() => checkSignerInfos([signerInfo({})], certificates, covered(), { mustBeQuick: true })).toThrow(
      expect.objectContaining({ code: 'NOT_QUICK' }) as Error,
    );
    expect(() => checkSignerInfos([signerInfo({})], certificates, covered())).not.toThrow();
    const quick = (count: number) => (): unknown =>
      checkSignerInfos(
        Array.from({ length: count }, () => signerInfo({})),
        [signer.certificate.der],
        covered(),
        { mustBeQuick: true },
      );
    expect(quick(1)).not.toThrow();
    expect(quick(25)).not.toThrow();
    expect(quick(26)).toThrow(expect.objectContaining({ code: 'NOT_QUICK' }) as Error);
  });

  it('is refused with a reason for a key that is beyond the limits, or that OpenSSL rejects', () => {
    const [tbs, ...signed] = children(readAll(signer.certificate.der));
    if (tbs === undefined) throw new Error('no certificate');
    const withKey = (key: Uint8Array): Uint8Array => {
      const fields = children(tbs).map(({ raw }) => raw);
      return der.sequence(der.sequence(...fields.with(6, key)), ...signed.map(({ raw }) => raw));
    };
    const checked = (key: Uint8Array) => (): unknown => checkSignerInfos([signerInfo({ attributes: [] })], [withKey(key)], covered());
    expect(checked(signer.certificate.subjectPublicKeyInfo)).not.toThrow();
    expect(checked(rsaPublicKey(Buffer.alloc(2048, 0xc5), 65_537n))).toThrow(
      'signature 1 of 1 cannot be verified: the key of its signer is an RSA key of 16384 bits, more than 8192',
    );
    const offCurve = Buffer.from(signer.certificate.subjectPublicKeyInfo);
    offCurve.fill(1, offCurve.length - 64);
    expect(checked(offCurve)).toThrow(/^signature 1 of 1 cannot be verified$/);
  });

  it('is named by its place, and each of them has to hold', () => {
    const [good, bad] = [signerInfo({}), signerInfo({ signed: Buffer.from('other') })];
    const certificates = [signer.certificate.der];
    expect(() => checkSignerInfos([good, bad], certificates, covered())).toThrow('signature 2 of 2 has a value that does not verify');
    expect(() => checkSignerInfos([bad, good], certificates, covered())).toThrow('signature 1 of 2');
    expect(() => checkSignerInfos([good, Buffer.of(0x30, 0)], certificates, covered())).toThrow('signature 2 of 2 is not well formed');
    expect(() => checkSignerInfos([good, bad], certificates, covered())).toThrow(SignatureBroken);
  });

  it('is verified for as many signers as there are, with signed attributes and without', () => {
    const [bare, usual] = [signerInfo({ attributes: [] }), signerInfo({})];
    const certificates = [signer.certificate.der];
    checkSignerInfos([...Array.from({ length: 30 }, () => bare), usual, usual], certificates, covered());
  });
});
