/**
 * Issues a CRL with many entries, from the state store to the state store, and prints time and
 * memory as JSON. A separate process, so that its memory peak is the CRL's.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createRoot } from '../src/certificates/authority.ts';
import { CrlPublisher } from '../src/certificates/crl/crl-publisher.ts';
import type { CertificateIssuer } from '../src/certificates/issue.ts';
import { subjectName } from '../src/certificates/subject.ts';
import { readCertificate } from '../src/x509/certificate.ts';
import { openSqliteStore } from '../src/state/threaded-store.ts';

const entries = Number(process.argv[2]);
const silent = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };
const settings = { lifetimeSeconds: 86_400, renewBeforeSeconds: 3600, keepExpired: false };
const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-crl-'));
const file = join(directory, 'state.sqlite');

async function issuer(): Promise<CertificateIssuer> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signing = {
    signatureAlgorithm: 'ecdsaWithSHA256' as const,
    sign: async (tbs: Uint8Array) => Promise.resolve(sign('sha256', tbs, privateKey)),
  };
  const certificate = await createRoot({
    ...signing,
    name: subjectName({ country: 'FR', commonName: 'Bench CA' }),
    subjectPublicKeyInfo: publicKey.export({ type: 'spki', format: 'der' }),
    notBefore: new Date(),
    notAfter: new Date(Date.now() + 86_400_000),
    serialNumber: randomBytes(16),
  });
  return { ...signing, certificate: readCertificate(certificate), chain: [certificate] };
}

function fill(): void {
  const database = new DatabaseSync(file);
  database.exec('begin');
  const insert = database.prepare(
    'insert into revocations (authority, serial_number, reason, revoked_at, not_after) values (?, ?, ?, ?, ?)',
  );
  const now = Date.now();
  for (let index = 0; index < entries; index += 1)
    insert.run('ca', randomBytes(16).toString('hex'), index % 6, now - index * 1000, now + 1e9);
  database.exec('commit');
  database.close();
}

try {
  const own = await issuer();
  // Creates the schema and a first list, so that the measured run is warm.
  let store = await openSqliteStore(file);
  const first = new CrlPublisher(store, 'other', own, { settings, log: silent });
  await first.start();
  await first.stop();
  await store.close();
  fill();
  store = await openSqliteStore(file);
  const residentBefore = process.memoryUsage.rss();
  const begin = performance.now();
  const publisher = new CrlPublisher(store, 'ca', own, { settings, log: silent });
  await publisher.start();
  const seconds = (performance.now() - begin) / 1000;
  const peakBytes = process.resourceUsage().maxRSS * 1024 - residentBefore;
  await publisher.stop();
  await store.close();
  console.log(JSON.stringify({ entries, seconds, peakBytes, crlBytes: publisher.published?.der.length ?? 0 }));
} finally {
  rmSync(directory, { recursive: true, force: true });
}
