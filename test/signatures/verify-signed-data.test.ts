import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { children, readAll } from '../../src/asn1/reader.ts';
import { readSignedData, type ReadSignedData } from '../../src/cms/read-signed-data.ts';
import { readSignerInfo } from '../../src/cms/read-signer-info.ts';
import { signedData, signerInfo, type SignedDataParts } from '../../src/cms/signed-data.ts';
import type { Content, SignedFile } from '../../src/documents/content.ts';
import { verifySignedData, type ExpectedSignature } from '../../src/signatures/cms/verify-signed-data.ts';
import { signatureValueOf } from '../../src/signatures/signature-value.ts';
import { joined, signedBy, softwareSigner, valueOf } from './software-signer.ts';

const signer = softwareSigner('finished');
const [other, earlierSigner] = [softwareSigner('other'), softwareSigner('earlier')];
const content = Buffer.from('what is signed');
const digestOf = (hash: string, bytes: Uint8Array): Buffer => createHash(hash).update(bytes).digest();
const read = (cms: Uint8Array): ReadSignedData => readSignedData(bytesInMemory(cms));

const crl = der.sequence(der.utf8String('a CRL'));
const own = read(joined(signedBy(signer, content)));
const before = { ...read(joined(signedBy(earlierSigner, content))), revocationData: [crl] };
const [ownInfo = new Uint8Array()] = own.signerInfos;
const parts: SignedDataParts = { ...own, content: [content] };
/** With the signature of another. */
const both: SignedDataParts = {
  ...parts,
  certificates: [...own.certificates, ...before.certificates],
  revocationData: [crl],
  signerInfos: [...own.signerInfos, ...before.signerInfos],
};
const expected: ExpectedSignature = {
  ...{ algorithm: signer.algorithm, certificate: signer.certificate, publicKey: signer.publicKey, contentType: oids.data },
  ...{ contentDigest: digestOf('sha256', content), detached: false, signerInfo: ownInfo, earlier: undefined },
};
const verify = (made: SignedDataParts, more: Partial<ExpectedSignature> = {}): void => {
  verifySignedData(signedData(made), { ...expected, ...more });
};

describe('a finished SignedData', () => {
  it('is delivered as it was prepared: attached, detached, and beside others', () => {
    verify(parts);
    verify({ ...parts, content: undefined }, { detached: true });
    verify(both, { earlier: before });
  });

  it.each<[string, SignedDataParts, Partial<ExpectedSignature>, string]>([
    ['content, where it is detached', parts, { detached: true }, 'has content although it is detached'],
    ['no content, where it is attached', { ...parts, content: undefined }, {}, 'or has none although it is attached'],
    ['another content type', { ...parts, contentType: '1.2.3' }, {}, 'has another content type'],
    ['other content', { ...parts, content: [Buffer.from('What is signed')] }, {}, 'contains other content'],
    ['more content', { ...parts, content: [content, Buffer.of(0)] }, {}, 'contains other content'],
    ['no certificate', { ...parts, certificates: [] }, {}, 'lacks the signer certificate'],
    ['the certificate of another', { ...parts, certificates: [other.certificate.der] }, {}, 'lacks the signer certificate'],
    ['no signature', { ...parts, signerInfos: [] }, {}, 'lacks the new signature'],
    ['the signature of another', { ...parts, signerInfos: before.signerInfos }, {}, 'lacks the new signature'],
    ['a lost certificate', { ...both, certificates: own.certificates }, { earlier: before }, 'lacks parts of the existing'],
    ['a lost CRL', { ...both, revocationData: [] }, { earlier: before }, 'lacks parts of the existing'],
    ['a lost signature', { ...both, signerInfos: [ownInfo, ownInfo] }, { earlier: before }, 'lacks parts of the existing'],
    [
      'one signature too many',
      { ...both, signerInfos: [...both.signerInfos, ownInfo] },
      { earlier: before },
      'lacks parts of the existing',
    ],
    ['another algorithm', parts, { algorithm: { scheme: 'ECDSA', hash: 'sha384' } }, ''],
    ['another key', parts, { publicKey: other.publicKey }, 'has a value that does not verify'],
    [
      'another certificate beside it',
      { ...parts, certificates: [...own.certificates, other.certificate.der] },
      { certificate: other.certificate },
      'binds another certificate',
    ],
    [
      'another digest',
      { ...parts, content: undefined },
      { detached: true, contentDigest: digestOf('sha256', Buffer.from('x')) },
      'does not match the content',
    ],
  ])('is refused with %s', (_what, made, more, message) => {
    expect(() => verify(made, more)).toThrow(message);
  });

  it('is refused if it binds no certificate, or has no signed attributes', () => {
    const attributes = children(readAll(readSignerInfo(ownInfo).signedAttributes ?? new Uint8Array())).map(({ raw }) => raw);
    const unbound = attributes.filter((one) => !Buffer.from(one).includes(Buffer.from(der.oid(oids.signingCertificateV2))));
    const made = (signed: Uint8Array, info: (value: Uint8Array) => Uint8Array): (() => void) => {
      const finished = info(signatureValueOf(signer.algorithm, valueOf(signer, { dataToSign: signed })));
      return () => verify({ ...parts, signerInfos: [finished] }, { signerInfo: finished });
    };
    const about = { algorithm: signer.algorithm, signer: signer.certificate };
    const written = (list: readonly Uint8Array[]) => (value: Uint8Array) =>
      signerInfo({ ...about, signedAttributes: list, signatureValue: value });
    expect(made(der.setOf(attributes), written(attributes))).not.toThrow();
    expect(made(der.setOf(unbound), written(unbound))).toThrow('binds no certificate');
    const bare = (value: Uint8Array): Uint8Array => {
      const fields = children(readAll(written([])(value))).map(({ raw }) => raw);
      return der.sequence(...fields.filter(([tag]) => tag !== 0xa0));
    };
    expect(made(content, bare)).toThrow('binds no certificate');
  });

  it('names the algorithm that was asked for, beside a value that verifies', () => {
    // PSS with other parameters than the profile has.
    const rsa = softwareSigner('parameters', 'rsa');
    const pss = { scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha256', saltBytes: 32 } as const;
    const made = read(joined(signedBy(rsa, content, { algorithm: pss })));
    const [info = new Uint8Array()] = made.signerInfos;
    const about = { signerInfo: info, certificate: rsa.certificate, publicKey: rsa.publicKey };
    const whole = { ...made, content: [content] };
    expect(() => verify(whole, { ...about, algorithm: pss })).not.toThrow();
    expect(() => verify(whole, { ...about, algorithm: { ...pss, saltBytes: 20 } })).toThrow('names another algorithm');
  });

  it('has the file that was hashed, whole, and by the same hash', () => {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-signed-'));
    writeFileSync(join(directory, 'file'), content);
    const descriptor = openSync(join(directory, 'file'), 'r');
    try {
      const file = (digest?: SignedFile['digest']): Content => ({
        ...{ descriptor, bytes: content.length },
        ...(digest === undefined ? {} : { digest }),
      });
      const right = { hash: 'sha256', value: digestOf('sha256', content) } as const;
      const withContent =
        (...made: readonly Content[]) =>
        (): void =>
          verify({ ...parts, content: made });
      expect(withContent(file(right))).not.toThrow();
      for (const made of [
        [file()],
        [file({ hash: 'sha512', value: right.value })],
        [file({ ...right, value: digestOf('sha256', Buffer.of(1)) })],
        [file(right), Buffer.of(0)],
        [file(right), file(right)],
      ])
        expect(withContent(...made)).toThrow('contains other content');
    } finally {
      closeSync(descriptor);
      rmSync(directory, { recursive: true });
    }
  });
});
