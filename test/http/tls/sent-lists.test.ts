import { execFileSync } from 'node:child_process';
import { createPrivateKey, randomBytes, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import * as asn1 from '../../../src/asn1/der.ts';
import { certificateList } from '../../../src/certificates/crl/certificate-list.ts';
import { readRevocationLists } from '../../../src/http/tls/revocation-lists.ts';
import { examineSentLists, readSentLists } from '../../../src/http/tls/sent-lists.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import { readCertificate } from '../../../src/x509/certificate.ts';
import { ScratchAuthority } from '../../support/scratch-authority.ts';

const serialNumberBytes = 20;
const directory = mkdtempSync(join(tmpdir(), 'signetd-sent-'));
const threads = new WorkThreads();
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

const authority = new ScratchAuthority(directory, 'clients');
const certificate = new X509Certificate(readFileSync(authority.certificate));

/** A CRL of the scratch authority with these serial numbers of 20 octets. */
async function listOf(serialNumbers: readonly Buffer[], number = 1): Promise<Uint8Array> {
  const { subject: name, subjectPublicKeyInfo } = readCertificate(certificate.raw);
  const key = createPrivateKey(readFileSync(authority.key));
  const count = serialNumbers.length;
  return certificateList(
    { name, subjectPublicKeyInfo, signatureAlgorithm: 'ecdsaWithSHA256', sign: async (tbs) => Promise.resolve(sign('sha256', tbs, key)) },
    {
      ...{ number, thisUpdate: new Date(), nextUpdate: new Date(Date.now() + 3_600_000) },
      revoked: {
        ...{ count, serialNumbers: Buffer.concat(serialNumbers), revokedAt: new Float64Array(count) },
        reasons: new Uint8Array(count),
      },
    },
  );
}

const ofOctets = (length: number): Buffer => Buffer.concat([Buffer.alloc(serialNumberBytes - length), randomBytes(length)]);
const textOf = (serialNumber: Buffer): string => BigInt(`0x${serialNumber.toString('hex')}`).toString(16);

it('a CRL that a thread has read has the entries that one of a file has, and no others', async () => {
  const serialNumbers = Array.from({ length: 3000 }, (_, index) => ofOctets(4 + (index % 16)));
  const der = await listOf(serialNumbers, 0x1_00_00);
  const [sent] = await readSentLists(der, 'sent', { authorities: [certificate], threads });
  const [file] = readRevocationLists(Buffer.from(der), 'file', [certificate]);
  expect([sent?.number, sent?.revoked.size]).toEqual([file?.number, file?.revoked.size]);
  expect(sent?.number).toBe(0x1_00_00n);
  const listed = serialNumbers.map(textOf);
  expect(listed.filter((serialNumber) => sent?.revoked.has(serialNumber) !== true)).toEqual([]);
  const others = Array.from({ length: 3000 }, () => textOf(ofOctets(19)));
  expect(others.filter((serialNumber) => sent?.revoked.has(serialNumber) === true)).toEqual([]);
});

it('OpenSSL and a thread agree on a CRL without entries', async () => {
  const der = await listOf([]);
  const text = execFileSync('openssl', ['crl', '-inform', 'DER', '-noout', '-text'], { input: der, encoding: 'utf8' });
  expect(text).toContain('No Revoked Certificates.');
  const [sent] = await readSentLists(der, 'sent', { authorities: [certificate], threads });
  expect([sent?.revoked.size, sent?.revoked.has('1')]).toEqual([0, false]);
});

it('the thread tells what is wrong with a list, by its source', () => {
  const authorities = [certificate.raw];
  expect(examineSentLists({ bytes: Buffer.from('nothing'), source: 'http://pki.example.org/clients.crl', authorities })).toEqual({
    fault: 'http://pki.example.org/clients.crl: there is no CRL in PEM or DER',
  });
});

it('entries are read only of a CRL that the CA has signed: half a million take seconds', () => {
  const { subject } = readCertificate(certificate.raw);
  const algorithm = asn1.sequence(asn1.oid('1.2.840.10045.4.3.2'));
  const times = [asn1.time(new Date(Date.now() - 1000)), asn1.time(new Date(Date.now() + 3_600_000))];
  // Whoever reads this entry finds a fault in it.
  const toBeSigned = asn1.sequence(asn1.integer(1), algorithm, subject, ...times, asn1.sequence(asn1.sequence(asn1.nullValue())));
  const signed = (value: Uint8Array): { fault: string } | { lists: unknown } =>
    examineSentLists({
      ...{ bytes: asn1.sequence(toBeSigned, algorithm, asn1.bitString(value)), source: 'sent', authorities: [certificate.raw] },
    });
  expect(signed(randomBytes(70))).toEqual({ fault: "sent: the CRL's signature is not that of the CA that it names" });
  const value = sign('sha256', toBeSigned, createPrivateKey(readFileSync(authority.key)));
  expect(signed(value)).toEqual({ fault: expect.stringMatching(/^sent: the CRL cannot be used: /) as string });
});

it('an answer of many small CRLs is refused before the first is read', () => {
  const authorities = [certificate.raw];
  const list = authority.revocationList();
  const examined = (count: number): ReturnType<typeof examineSentLists> =>
    examineSentLists({ bytes: Buffer.from(list.repeat(count)), source: 'sent', authorities });
  expect(examined(257)).toEqual({ fault: 'sent: there are 257 CRLs, more than 256' });
  expect(examined(2)).toMatchObject({ lists: [{ authority: 0 }, { authority: 0 }] });
});
