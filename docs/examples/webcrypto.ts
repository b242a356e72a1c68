/**
 * Signs a text as CMS with pkijs and an XML document as XAdES with xadesjs, by one key on the token.
 *
 * Usage: sh packaging/node24.sh docs/examples/webcrypto.ts CONFIGURATION DIRECTORY
 *
 * CONFIGURATION is a file with a `token` section. Writes signed.cms, signed.xml and signer.pem to DIRECTORY.
 */
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import * as xmldom from '@xmldom/xmldom';
import * as asn1js from 'asn1js';
import { createHash, type webcrypto } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as pkijs from 'pkijs';
import { openTokenCrypto, type KeyId, type KeyJournal } from 'signetd/webcrypto';
import * as xadesjs from 'xadesjs';

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** The bytes in an ArrayBuffer of their own, as pkijs takes them. */
const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

/** CMS SignedData (RFC 5652) with the content inside and signed attributes, DER. */
async function signCms(
  crypto: webcrypto.Crypto,
  key: webcrypto.CryptoKey,
  signer: pkijs.Certificate,
  content: Uint8Array,
): Promise<Buffer> {
  const digest = createHash('sha256').update(content).digest();
  const contentType = new asn1js.ObjectIdentifier({ value: pkijs.ContentInfo.DATA });
  const messageDigest = new asn1js.OctetString({ valueHex: bufferOf(digest) });
  const signedData = new pkijs.SignedData({
    encapContentInfo: new pkijs.EncapsulatedContentInfo({
      eContentType: pkijs.ContentInfo.DATA,
      eContent: new asn1js.OctetString({ valueHex: bufferOf(content) }),
    }),
    signerInfos: [
      new pkijs.SignerInfo({
        sid: new pkijs.IssuerAndSerialNumber({ issuer: signer.issuer, serialNumber: signer.serialNumber }),
        signedAttrs: new pkijs.SignedAndUnsignedAttributes({
          type: 0,
          attributes: [
            new pkijs.Attribute({ type: '1.2.840.113549.1.9.3', values: [contentType] }),
            new pkijs.Attribute({ type: '1.2.840.113549.1.9.4', values: [messageDigest] }),
          ],
        }),
      }),
    ],
    certificates: [signer],
  });
  await signedData.sign(key, 0, 'SHA-256', undefined, new pkijs.CryptoEngine({ name: 'token', crypto }));
  const info = new pkijs.ContentInfo({ contentType: pkijs.ContentInfo.SIGNED_DATA, content: signedData.toSchema(true) });
  return Buffer.from(info.toSchema().toBER());
}

/** The document with an enveloped XAdES signature in it. */
async function signXml(crypto: webcrypto.Crypto, key: webcrypto.CryptoKey, certificate: ArrayBuffer, xml: string): Promise<string> {
  xadesjs.setNodeDependencies({
    XMLSerializer: xmldom.XMLSerializer,
    DOMParser: xmldom.DOMParser,
    DOMImplementation: xmldom.DOMImplementation,
    xpath: createRequire(import.meta.url)('xpath') as unknown,
  });
  xadesjs.Application.setEngine('token', crypto);
  const document = new xmldom.DOMParser().parseFromString(xml, 'text/xml');
  const base64 = Buffer.from(certificate).toString('base64');
  const signature = new xadesjs.SignedXml();
  await signature.Sign(ecdsa, key, document, {
    x509: [base64],
    signingCertificate: base64,
    references: [{ hash: 'SHA-256', transforms: ['enveloped', 'exc-c14n'] }],
  });
  const element: unknown = signature.GetXml();
  if (!(element instanceof xmldom.Node)) throw new Error('xadesjs returned no signature');
  document.documentElement?.appendChild(element);
  return new xmldom.XMLSerializer().serializeToString(document);
}

/** Keeps the journal in memory, which suits a key that does not outlive the program. A key that stays needs a durable journal. */
function memoryJournal(): KeyJournal {
  const entries = new Map<KeyId, 'CREATE' | 'DESTROY'>();
  return {
    announce: async (id, intent) => Promise.resolve(void entries.set(id, intent)),
    settle: async (id) => Promise.resolve(void entries.delete(id)),
  };
}

const [configuration, directory] = process.argv.slice(2);
if (configuration === undefined || directory === undefined) throw new Error('usage: webcrypto.ts CONFIGURATION DIRECTORY');

const { crypto, close } = await openTokenCrypto(configuration, memoryJournal(), console);
try {
  const keys = await crypto.subtle.generateKey(ecdsa, false, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    { name: 'CN=Camille Martin', keys, signingAlgorithm: ecdsa },
    crypto,
  );
  const signer = pkijs.Certificate.fromBER(certificate.rawData);
  const cms = await signCms(crypto, keys.privateKey, signer, Buffer.from('Lu et approuvé\n'));
  const xml = await signXml(crypto, keys.privateKey, certificate.rawData, '<contract><text>Lu et approuvé</text></contract>');
  writeFileSync(join(directory, 'signed.cms'), cms);
  writeFileSync(join(directory, 'signed.xml'), xml);
  writeFileSync(join(directory, 'signer.pem'), certificate.toString('pem'));
  await crypto.destroyKey(keys.privateKey);
} finally {
  await close();
}
