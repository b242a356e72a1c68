import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseKeyId, type KeyId } from '../../src/token/key-id.ts';
import { readMadeMac, writeMakeMac } from '../../src/token/wire/messages.ts';
import { encodeFrame, FrameSplitter, operations, statuses } from '../../src/token/wire/frames.ts';
import { children, readAll } from '../../src/asn1/reader.ts';
import { writeServiceSign, writeSign } from '../../src/token/wire/sign-message.ts';
import { auditVerify, VerifyOptions } from '../../src/cli/audit/verify.ts';
import { loadConfig } from '../../src/config/config.ts';
import { accountDirectoryOf } from '../../src/config/token-config.ts';
import { readStateStore } from '../../src/state/threaded-store.ts';
import { contentDocument, textOf } from '../support/api.ts';
import { OwnService, newCertificate } from '../support/own-service.ts';
import { signetctl } from '../support/signetctl.ts';

/** Services that start again and again. */
const longMs = 300_000;
let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
}, longMs);

afterAll(async () => {
  await service.remove();
}, longMs);

async function post(operation: string, body: object): Promise<Record<string, unknown>> {
  return JSON.parse(await service.post(operation, body)) as Record<string, unknown>;
}

interface NewKey {
  readonly reference: string;
  readonly password: string;
  readonly authToken: string;
  readonly certificate: string;
}

async function newKey(protocol?: string): Promise<NewKey> {
  const { keyReference, certificate } = await post('pki/createCertificate', newCertificate(protocol));
  return { ...(keyReference as NewKey), certificate: textOf(certificate) };
}

const withPassword = ({ reference, password }: NewKey, other = password): object => ({ reference, password: other });

const signing = (keyReference: object): object => ({
  keyReference,
  parameters: { rawSignature: {} },
  inputDocuments: [contentDocument('A document')],
});

interface Said {
  readonly account: { readonly recorded: number; readonly unrecorded: readonly { readonly use: string; readonly place: string }[] };
}

/** As `signetctl audit verify` does it. */
async function verify(more: Partial<VerifyOptions> = {}): Promise<{ faults: string } & Said> {
  const { faults, json } = await auditVerify(service.description.configFile, VerifyOptions.parse({ recentSeconds: '0', ...more }));
  return { ...(json as Said), faults: (faults ?? []).join('\n') };
}

/** What the service does by itself, such as a CRL, gets its record soon. */
async function settled(): Promise<Said> {
  let said = await verify();
  for (let tries = 0; tries < 50 && said.faults !== ''; tries += 1) {
    await service.post('pki/checkKey', { keyReference: { reference: '0'.repeat(40) } });
    said = await verify();
  }
  expect(said.faults).toBe('');
  return said;
}

/** Asks the host over its socket, as who owns the daemon's process can. */
async function askHost(code: number, body: Buffer): Promise<{ code: number; body: Buffer }> {
  const socket = createConnection(`${loadConfig(service.description.configFile).token.socketPath}.1`);
  await once(socket, 'connect');
  const splitter = new FrameSplitter();
  const answer = new Promise<{ code: number; body: Buffer }>((resolve) => {
    socket.on('data', (chunk) => {
      const [frame] = splitter.push(chunk);
      if (frame !== undefined) resolve({ code: frame.code, body: frame.body.subarray(4) });
    });
  });
  socket.write(encodeFrame(1, code, body));
  try {
    return await answer;
  } finally {
    socket.destroy();
  }
}

async function keyIdOf(reference: string): Promise<KeyId> {
  const store = await readStateStore(loadConfig(service.description.configFile).state);
  try {
    const row = await store.run('findKey', reference);
    return parseKeyId(row?.key_id ?? '');
  } finally {
    await store.close();
  }
}

const own = { kind: 'PASSWORD', secret: Buffer.from('of my own making'), scope: Buffer.alloc(32) } as const;
const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
const digestOf = (text: string | Uint8Array): Buffer => createHash('sha256').update(text).digest();
const accountDirectory = (): string => accountDirectoryOf(loadConfig(service.description.configFile).token);

describe('the account of the token host beside the audit log', { timeout: longMs }, () => {
  describe('over a stop', () => {
    let file: { name: string; path: string; before: Buffer };
    let changed: number;
    /** What was found while the service was stopped: with a line that was changed, and with lines cut off. */
    let found: { changed: string; cut: string };

    beforeAll(async () => {
      const [byPassword, byOtp, once_] = await Promise.all([newKey(), newKey('OTP'), newKey('SINGLE_USE')]);
      await post('signature/sign', signing(withPassword(byPassword)));
      await post('signature/sign', signing(withPassword(byPassword, 'wrong')));
      await post('signature/sign', signing({ reference: once_.reference, authToken: once_.authToken }));
      const { password: otp } = await post('pki/sendOTP', {
        keyReference: byOtp.reference,
        action: 'SIGN',
        signerData: {
          digest: [{ id: 'doc', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: digestOf('A document').toString('base64') }],
        },
      });
      await post('signature/sign', signing({ reference: byOtp.reference, password: otp }));
      await post('pki/changePassword', { keyReference: withPassword(byPassword), password: 'another password' });
      await post('pki/removeKey', { keyReference: { reference: byPassword.reference, password: 'another password' } });
      await post('pki/revokeCertificate', { certificate: byPassword.certificate, reason: 'KEY_COMPROMISE' });
      await service.daemon.stop();
      const [name = ''] = readdirSync(accountDirectory()).filter((each) => each.startsWith('account-0-'));
      const path = join(accountDirectory(), name);
      file = { name, path, before: readFileSync(path) };
      const lines = file.before.toString().trimEnd().split('\n');
      changed = lines.findIndex((line) => line.includes('sha256:'));
      writeFileSync(path, `${lines.map((line, index) => (index === changed ? line.replace('sha256:', 'sha512:') : line)).join('\n')}\n`);
      const { faults } = await verify();
      writeFileSync(path, `${lines.slice(0, -3).join('\n')}\n`);
      found = { changed: faults, cut: (await verify()).faults };
      writeFileSync(path, file.before);
      // What a kill leaves is cut, and said.
      appendFileSync(path, '{"n":17,"ti');
      await service.daemon.start();
    }, longMs);

    it('finds a line that was changed, and one that was cut off behind a checkpoint', async () => {
      const { name, path, before } = file;
      expect(found.changed).toContain(`${name}, line ${changed + 2}: its hash of the previous line is wrong`);
      expect(found.cut).toMatch(/account-0: the chain ends at line \d+, but record \d+ of the audit log names line \d+/);
      const [, last = ''] = /^([^]*\n)?([^\n]*"start"[^\n]*)\n[^]*$/.exec(readFileSync(path, 'utf8').slice(before.length - 1)) ?? [];
      expect(readFileSync(path, 'utf8').slice(before.length)).toContain('"start":{"cutBytes":11}');
      expect(last).not.toContain('"n":17,"ti');
      expect((await verify()).faults).not.toContain('line before it');
    });

    it('has a record for each use of a service that nobody misuses, over stops, kills of the host, and refusals', async () => {
      const again = await newKey();
      await post('signature/sign', signing(withPassword(again)));
      const { account } = await settled();
      expect(account.unrecorded).toEqual([]);
      // Three certificates and more, five MACs and more, signatures, and what the quickstart's authorities signed.
      expect(account.recorded).toBeGreaterThan(15);
    });
  });

  it('names a signature, and the MAC, that were made over the socket of the host', async () => {
    await settled();
    const { reference } = await newKey();
    const id = await keyIdOf(reference);
    const made = readMadeMac((await askHost(operations.makeMac, writeMakeMac(id, own.kind, own.secret, own.scope))).body);
    const digest = digestOf('what nobody asked for');
    const signed = await askHost(operations.sign, writeSign(id, algorithm, [digest], { anyOf: [{ ...own, ...made, signs: true }] }));
    expect(signed.code).toBe(statuses.ok);
    const { faults, account } = await verify();
    expect(faults).toContain(`the key ${id} signed sha256:${digest.toString('hex')} at `);
    expect(faults).toContain(`a MAC was made for a new secret of the key ${id} (PASSWORD)`);
    expect(account.unrecorded.length).toBe(2);
    const run = await signetctl(['--config', service.description.configFile, 'audit', 'verify', '--recent-seconds', '0']);
    expect(run.status).toBe(1);
    expect(run.stderr).toContain(digest.toString('hex'));
    expect((await verify({ recentSeconds: '600' })).faults).toBe('');
    // Whoever has looked into it says so.
    const places = account.unrecorded.map(({ place }) => place);
    expect((await verify({ explained: places })).faults).toBe('');
    expect((await verify({ explained: [places.join(',')] })).faults).toBe('');
    expect((await verify({ explained: places.slice(1) })).faults).not.toBe('');
    expect((await verify({ account: false })).faults).toBe('');
  });

  it('names what an authority signed without a record', async () => {
    const { certificateAuthorities } = loadConfig(service.description.configFile);
    const keyId = parseKeyId(certificateAuthorities['issuing']?.keyId ?? '');
    // What the authority signed for a request, with another name.
    const { certificate } = await newKey();
    const [toBeSigned] = children(readAll(Buffer.from(certificate, 'base64')));
    const message = Buffer.from(toBeSigned?.raw ?? []);
    message.write('Nill', message.indexOf('Kill'));
    const digest = digestOf(message);
    expect((await askHost(operations.signAsService, writeServiceSign(keyId, algorithm, message))).code).toBe(statuses.ok);
    expect((await verify()).faults).toContain(`the key ${keyId} signed sha256:${digest.toString('hex')}`);
  });

  it('says of a use before a kill of the daemon that its record may have been cut, and goes on after a kill of the host', async () => {
    const { reference, password } = await newKey();
    const id = await keyIdOf(reference);
    const made = readMadeMac((await askHost(operations.makeMac, writeMakeMac(id, own.kind, own.secret, own.scope))).body);
    // As the daemon has it done, and is killed before its record is written.
    const digest = digestOf('a document of the moment');
    await askHost(operations.sign, writeSign(id, algorithm, [digest], { anyOf: [{ ...own, ...made, signs: true }] }));
    await service.daemon.kill();
    await service.daemon.start();
    const named = (await verify()).faults.split('\n').find((line) => line.includes(digest.toString('hex')));
    expect(named).toMatch(/ \(signetd started again at \S+: a crash, or a full disk, may have prevented its record\); \d+:\d+$/);
    const { account: before } = await verify();
    service.daemon.killHost();
    // On a busy machine the next host may take longer than requests wait for it; then clients repeat them.
    await expect.poll(async () => service.post('signature/sign', signing({ reference, password }))).toContain('"resultMajor":0');
    const { account: after } = await verify();
    expect(after.unrecorded).toEqual(before.unrecorded);
    expect(after.recorded).toBeGreaterThan(before.recorded);
  });
});
