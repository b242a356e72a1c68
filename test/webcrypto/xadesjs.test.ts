import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import * as xmldom from '@xmldom/xmldom';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { webcrypto } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import * as xadesjs from 'xadesjs';
import { p256, pkcs1, type PairAlgorithm } from './algorithms.ts';
import { scratchProvider } from './scratch-provider.ts';

const provider = scratchProvider();
// Its types would bring those of browsers into the whole project.
const xpath: unknown = createRequire(import.meta.url)('xpath');

beforeAll(() => {
  xadesjs.setNodeDependencies({
    XMLSerializer: xmldom.XMLSerializer,
    DOMParser: xmldom.DOMParser,
    DOMImplementation: xmldom.DOMImplementation,
    xpath,
  });
  xadesjs.Application.setEngine('token', provider().crypto);
});

/** Whether xmlsec1 accepts an enveloped signature by its key and the references to what it signs. */
function accepts(xml: string, certificatePem: string): boolean {
  const { directory } = provider().scratch;
  const [document, certificate] = [join(directory, 'signed.xml'), join(directory, 'signer.pem')];
  writeFileSync(document, xml);
  writeFileSync(certificate, certificatePem);
  try {
    const properties = ['--id-attr:Id', 'http://uri.etsi.org/01903/v1.3.2#:SignedProperties'];
    execFileSync('xmlsec1', ['--verify', ...properties, '--trusted-pem', certificate, document], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

async function pairOf(algorithm: PairAlgorithm): Promise<webcrypto.CryptoKeyPair> {
  const pair = await provider().crypto.subtle.generateKey(algorithm.generate, false, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('no pair');
  return pair;
}

describe('xadesjs with the token provider', () => {
  it.each([pkcs1, p256].map((algorithm) => ({ label: algorithm.label, algorithm })))(
    '$label: makes a XAdES signature that xmlsec1 verifies',
    async ({ algorithm }) => {
      const { crypto } = provider();
      const pair = await pairOf(algorithm);
      const certificate = await x509.X509CertificateGenerator.createSelfSigned(
        { name: 'CN=Camille Martin', keys: pair, signingAlgorithm: algorithm.sign },
        crypto,
      );
      const base64 = Buffer.from(certificate.rawData).toString('base64');
      const contract = new xmldom.DOMParser().parseFromString('<contract><text>Lu et approuvé</text></contract>', 'text/xml');
      const signature = new xadesjs.SignedXml();
      await signature.Sign(algorithm.sign, pair.privateKey, contract, {
        x509: [base64],
        signingCertificate: base64,
        references: [{ hash: 'SHA-256', transforms: ['enveloped', 'exc-c14n'] }],
      });
      const element: unknown = signature.GetXml();
      if (!(element instanceof xmldom.Node)) throw new Error('no signature');
      contract.documentElement?.appendChild(element);
      const xml = new xmldom.XMLSerializer().serializeToString(contract);
      expect(xml).toContain('SignedProperties');
      expect(accepts(xml, certificate.toString('pem'))).toBe(true);
      expect(accepts(xml.replace('approuvé', 'refusé'), certificate.toString('pem'))).toBe(false);
    },
  );
});
