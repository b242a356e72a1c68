/**
 * Writes an audit log until somebody kills it. Standard output gets the number of each record that is said to be on the disk, a line each.
 * Arguments: directory of the log, path of the state store, path of the checkpoints' private key (PEM), and what to do.
 */
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync, writeSync } from 'node:fs';
import { auditSteps } from '../../src/audit/audited-request.ts';
import { AuditLog } from '../../src/audit/audit-log.ts';
import { Outbox } from '../../src/audit/outbox.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { step } from '../../src/state/step.ts';
import { recordingLog } from '../support/silent-log.ts';

const [directory = '', statePath = '', keyPath = '', work = ''] = process.argv.slice(2);
const key = createPrivateKey(readFileSync(keyPath));
const store = await openSqliteStore(statePath);
const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
// As in the service, the key is in the store before it signs anything.
if ((await store.run('auditKeys')).length === 0) {
  await store.run('announce', { key_id: 'a1', intent: 'CREATE', created_at: 1 });
  await store.run('takeAuditKey', { key_id: 'a1', public_key: publicKey, created_at: 1, replaces: undefined, succession: null });
}
const audit = await AuditLog.open({
  directory,
  name: 'signetd',
  rotateBytes: 20_000,
  checkpointSeconds: 60,
  checkpointRecords: 20,
  signer: {
    publicKey,
    sign: async (bytes) => Promise.resolve(sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' })),
  },
  memory: {
    async head() {
      const row = await store.run('auditHead', 'signetd');
      return row === undefined ? undefined : { n: row.records, hash: row.hash, file: row.file };
    },
    keepHead: async ({ n, hash, file }) => store.run('keepAuditHead', { log: 'signetd', records: n, hash, file }),
  },
  outbox: new Outbox(store, 'signetd'),
  log: recordingLog(),
});

async function request(number: number): Promise<void> {
  const requester = { client: 'app', tenant: 'demo', spki: '0123456789abcdef', address: '127.0.0.1', operation: 'pki/createCertificate' };
  const audited = audit.begin({ request: `${process.pid}-${number}`, ...requester });
  await audit.carryOut(audited, async () => {
    const entry = { key_id: `${process.pid}-${number}`, intent: 'CREATE' as const, created_at: Date.now() };
    await store.commit([step('announce', entry), ...auditSteps('a key was made')]);
    if (work === 'die-between') process.kill(process.pid, 'SIGKILL');
  });
  await audit.finish(audited, { major: 0, minor: 0 });
  // Synchronously: what was said must not be lost with the process.
  writeSync(1, `${process.pid}-${number}\n`);
}

/** An operator's command that is cut short between its commit and its record. */
async function commandCutShort(): Promise<void> {
  const entry = { kind: 'administration' as const, request: `${process.pid}-command`, uid: 0, command: 'client revoke', client: 'app' };
  await audit.administer(entry, async (settlement) => {
    const spki = '0123456789abcdef';
    await store.commit([step('revokeClient', { spkiSha256: spki, now: Date.now() }), ...settlement({ spki })]);
    process.kill(process.pid, 'SIGKILL');
    return { value: undefined };
  });
}

if (work === 'die-in-command') await commandCutShort();
for (let number = 0; ; number += 5) await Promise.all([0, 1, 2, 3, 4].map(async (offset) => request(number + offset)));
