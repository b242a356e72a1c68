import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import type { webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openssl } from '../support/openssl.ts';
import { kinds, type PairAlgorithm } from './algorithms.ts';
import { scratchProvider } from './scratch-provider.ts';

const provider = scratchProvider();
const cases = kinds.map((algorithm) => ({ label: algorithm.label, algorithm }));

async function pairOf(algorithm: PairAlgorithm): Promise<webcrypto.CryptoKeyPair> {
  const pair = await provider().crypto.subtle.generateKey(algorithm.generate, false, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('no pair');
  return pair;
}

describe('@peculiar/x509 with the token provider', () => {
  it.each(cases)('$label: makes a chain that OpenSSL verifies', async ({ algorithm }) => {
    const { crypto } = provider();
    const [ca, subject] = [await pairOf(algorithm), await pairOf(algorithm)];
    const root = await x509.X509CertificateGenerator.createSelfSigned(
      {
        name: 'CN=Root',
        keys: ca,
        signingAlgorithm: algorithm.sign,
        extensions: [
          new x509.BasicConstraintsExtension(true, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
          await x509.SubjectKeyIdentifierExtension.create(ca.publicKey, false, crypto),
        ],
      },
      crypto,
    );
    const leaf = await x509.X509CertificateGenerator.create(
      {
        subject: 'CN=Camille Martin',
        issuer: root.subject,
        publicKey: subject.publicKey,
        signingKey: ca.privateKey,
        signingAlgorithm: algorithm.sign,
      },
      crypto,
    );
    expect(await leaf.verify({ publicKey: root.publicKey }, crypto)).toBe(true);
    expect(openssl(['verify', '-CAfile', '{root}', '{leaf}'], { root: root.toString('pem'), leaf: leaf.toString('pem') })).toMatch(
      /: OK$/m,
    );
  });

  it.each(cases)('$label: makes a certification request that OpenSSL verifies', async ({ algorithm }) => {
    const { crypto } = provider();
    const request = await x509.Pkcs10CertificateRequestGenerator.create(
      { name: 'CN=Camille Martin', keys: await pairOf(algorithm), signingAlgorithm: algorithm.sign },
      crypto,
    );
    expect(await request.verify(crypto)).toBe(true);
    const said = openssl(['req', '-verify', '-noout', '-subject', '-in', '{csr}'], { csr: request.toString('pem') });
    expect(said).toContain('verify OK');
    expect(said).toMatch(/CN ?= ?Camille Martin/);
  });
});
