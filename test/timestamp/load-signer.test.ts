import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { subjectName } from '../../src/certificates/subject.ts';
import { createTimeStampCertificate } from '../../src/timestamp/authority-certificate.ts';
import { readTimeStampChain } from '../../src/timestamp/load-signer.ts';
import { softwareAuthority, softwareKey, type SoftwareAuthority } from '../certificates/software-authority.ts';
import { hourMs, ScratchAuthority } from '../support/scratch-authority.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-signer-'));
let authority: SoftwareAuthority;
let elsewhere: ScratchAuthority;
let good: string;
beforeAll(async () => {
  authority = await softwareAuthority('P-256');
  elsewhere = new ScratchAuthority(directory, 'elsewhere');
  const { subjectPublicKeyInfo } = softwareKey('P-256');
  const name = subjectName({ country: 'FR', commonName: 'TSA' });
  const { notBefore, notAfter } = authority.issuer.certificate;
  good = file('good', await createTimeStampCertificate(authority.issuer, { name, subjectPublicKeyInfo, notBefore, notAfter, urls: {} }));
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

function file(name: string, der: Uint8Array): string {
  const path = join(directory, `${name}.pem`);
  writeFileSync(path, new X509Certificate(der).toString());
  return path;
}

it('takes a certificate for time-stamping and its chain up to the root', () => {
  const chain = authority.issuer.chain.map((der, index) => file(`above-${index}`, der));
  expect(readTimeStampChain({ certificate: good, chain })).toHaveLength(chain.length + 1);
});

it.each([
  ['for clients of TLS', 'clientAuth'],
  ['whose purpose is not critical', 'timeStamping'],
  ['with another purpose besides', 'critical,timeStamping,emailProtection'],
  ['for everything', ''],
])('refuses a certificate %s', (_name, extendedKeyUsage) => {
  const { certificate } = elsewhere.issue('tsa', { extendedKeyUsage });
  expect(() => readTimeStampChain({ certificate, chain: [elsewhere.certificate] })).toThrow(
    'extendedKeyUsage must be critical and contain only time-stamping',
  );
});

it('refuses that of an authority, a chain without its root, one of others, and one that was never valid as a whole', () => {
  const purpose = { extendedKeyUsage: 'critical,timeStamping' };
  const ca = elsewhere.issue('ca', { ...purpose, isAuthority: true });
  expect(() => readTimeStampChain({ certificate: ca.certificate, chain: [elsewhere.certificate] })).toThrow(
    'extendedKeyUsage must be critical',
  );
  const [issuing = new Uint8Array()] = authority.issuer.chain;
  expect(() => readTimeStampChain({ certificate: good, chain: [file('issuing', issuing)] })).toThrow('does not end with a self-signed');
  expect(() => readTimeStampChain({ certificate: good, chain: [elsewhere.certificate] })).toThrow('did not issue');
  const below = new ScratchAuthority(directory, 'below', { parent: elsewhere });
  const early = { from: new Date(Date.now() - 48 * hourMs), until: new Date(Date.now() - 24 * hourMs) };
  const { certificate } = below.issue('early', { ...purpose, ...early });
  expect(() => readTimeStampChain({ certificate, chain: [below.certificate, elsewhere.certificate] })).toThrow('not valid after');
});
