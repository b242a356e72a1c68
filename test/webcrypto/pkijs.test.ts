import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import * as asn1js from 'asn1js';
import * as pkijs from 'pkijs';
import { createHash, type webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openssl } from '../support/openssl.ts';
import { kinds, type PairAlgorithm } from './algorithms.ts';
import { scratchProvider } from './scratch-provider.ts';

const provider = scratchProvider();
const content = Buffer.from('Lu et approuvé\n');
/** pkijs has no Ed25519. */
const cases = kinds.filter(({ label }) => label !== 'Ed25519').map((algorithm) => ({ label: algorithm.label, algorithm }));

const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;
const attribute = (type: string, value: asn1js.BaseBlock): pkijs.Attribute => new pkijs.Attribute({ type, values: [value] });

/** CMS SignedData (RFC 5652) with the content inside and signed attributes, in DER. */
async function signedData(pair: webcrypto.CryptoKeyPair, certificate: ArrayBuffer): Promise<Buffer> {
  const engine = new pkijs.CryptoEngine({ name: 'token', crypto: provider().crypto });
  const signer = pkijs.Certificate.fromBER(certificate);
  const signedAttrs = new pkijs.SignedAndUnsignedAttributes({
    type: 0,
    attributes: [
      attribute('1.2.840.113549.1.9.3', new asn1js.ObjectIdentifier({ value: pkijs.ContentInfo.DATA })),
      attribute('1.2.840.113549.1.9.4', new asn1js.OctetString({ valueHex: bufferOf(createHash('sha256').update(content).digest()) })),
    ],
  });
  const data = new pkijs.SignedData({
    encapContentInfo: new pkijs.EncapsulatedContentInfo({
      eContentType: pkijs.ContentInfo.DATA,
      eContent: new asn1js.OctetString({ valueHex: bufferOf(content) }),
    }),
    signerInfos: [
      new pkijs.SignerInfo({
        sid: new pkijs.IssuerAndSerialNumber({ issuer: signer.issuer, serialNumber: signer.serialNumber }),
        signedAttrs,
      }),
    ],
    certificates: [signer],
  });
  await data.sign(pair.privateKey, 0, 'SHA-256', undefined, engine);
  const info = new pkijs.ContentInfo({ contentType: pkijs.ContentInfo.SIGNED_DATA, content: data.toSchema(true) });
  return Buffer.from(info.toSchema().toBER());
}

async function pairOf(algorithm: PairAlgorithm): Promise<webcrypto.CryptoKeyPair> {
  const pair = await provider().crypto.subtle.generateKey(algorithm.generate, false, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('no pair');
  return pair;
}

describe('pkijs with the token provider', () => {
  it.each(cases)('$label: makes a CMS SignedData that OpenSSL verifies', async ({ algorithm }) => {
    const { crypto } = provider();
    const pair = await pairOf(algorithm);
    const certificate = await x509.X509CertificateGenerator.createSelfSigned(
      { name: 'CN=Camille Martin', keys: pair, signingAlgorithm: algorithm.sign },
      crypto,
    );
    const cms = await signedData(pair, certificate.rawData);
    const files = { cms, root: certificate.toString('pem') };
    const said = openssl(['cms', '-verify', '-binary', '-inform', 'DER', '-in', '{cms}', '-CAfile', '{root}', '-purpose', 'any'], files);
    expect(said).toContain('CMS Verification successful');
    expect(said).toContain('Lu et approuvé');
    const changed = Buffer.from(cms);
    changed[changed.indexOf('approuv')] = 0x41;
    expect(() =>
      openssl(['cms', '-verify', '-binary', '-inform', 'DER', '-in', '{cms}', '-CAfile', '{root}', '-purpose', 'any'], {
        ...files,
        cms: changed,
      }),
    ).toThrow();
  });
});
