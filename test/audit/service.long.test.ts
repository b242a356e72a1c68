import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { certificateRequest, contentDocument, subject, textOf, type Body } from '../support/api.ts';
import { OwnService } from '../support/own-service.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { signetctl as run, type CommandRun } from '../support/signetctl.ts';
import { noSmallDisk, SmallDisk } from './small-disk.ts';
import { skipNote } from '../support/skip-note.ts';

/** The service tries a full disk twice a second. */
const longerThanARetryMs = 600;
let service: OwnService;
let logDirectory: string;

beforeAll(async () => {
  service = await OwnService.start();
  logDirectory = join(service.environment.directory, 'audit');
});

afterAll(async () => {
  await service.remove();
});

async function call(
  operation: string,
  body: unknown,
  client: string | undefined = 'app',
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body }> {
  const { description, baseUrl } = service;
  const files = description.clients[client ?? ''];
  const credentials = files === undefined ? {} : { cert: readFileSync(files.certificate), key: readFileSync(files.key) };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      `${baseUrl}/sign/${operation}`,
      {
        method: 'POST',
        agent: false,
        ca: readFileSync(description.caCertificate),
        ...credentials,
        headers: { 'Content-Type': 'application/json', ...headers },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Body });
        });
      },
    );
    sent.on('error', reject);
    sent.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

/** As `0/0`, whatever its spelling. */
function codeOf({ body: { result } }: { body: Body }): string {
  return `${textOf(result?.['resultMajor'] ?? result?.['majorCode'])}/${textOf(result?.['resultMinor'] ?? result?.['minorCode'])}`;
}

async function newKey(): Promise<{ reference: string; password: string }> {
  const { body } = await call('pki/createCertificate', certificateRequest());
  return { reference: textOf(body['keyReference']?.['reference']), password: textOf(body['keyReference']?.['password']) };
}

const signRequest = (keyReference: object, requestID?: string): object => ({
  keyReference,
  parameters: { rawSignature: {} },
  inputDocuments: [contentDocument('A very private document')],
  ...(requestID === undefined ? {} : { requestID }),
});

interface Written {
  readonly kind: string;
  readonly [member: string]: unknown;
}

function records(): Written[] {
  return readdirSync(logDirectory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(logDirectory, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as Written);
}

const configured = (args: readonly string[]): string[] => ['--config', service.description.configFile, ...args];
const signetctl = async (...args: string[]): Promise<CommandRun> => run(configured(args));
const runHere = async (...args: string[]): Promise<CommandRun> => signetctlHere(configured(args));

describe('what the service records', () => {
  it('states who did what with which key, how it ended and what was signed, before the answer is sent', async () => {
    const key = await newKey();
    await call('signature/sign', signRequest(key, 'order 4711'));
    const [created, signed] = records()
      .filter(({ kind }) => kind === 'request')
      .slice(-2);
    const who = { client: 'app', tenant: 'demo', address: '127.0.0.1', spki: expect.stringMatching(/^[0-9a-f]{16}$/) as string };
    const sha256 = expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string;
    expect(created).toEqual(
      expect.objectContaining({ ...who, operation: 'pki/createCertificate', key: key.reference, digests: [sha256], major: 0, minor: 0 }),
    );
    expect(signed).toEqual(
      expect.objectContaining({ ...who, operation: 'signature/sign', key: key.reference, requestID: 'order 4711', major: 0, minor: 0 }),
    );
    const digest = createHash('sha256').update('A very private document').digest('hex');
    expect(signed?.['digests']).toEqual([`sha256:${digest}`]);
  });

  it('records failures, wrong fields and invalid JSON too', async () => {
    const key = await newKey();
    await call('pki/checkKey', { keyReference: { reference: key.reference, password: 'a wrong one' } });
    await call('signature/sign', signRequest({ ...key, password: 'a wrong one' }));
    await call('pki/removeKey', {});
    await call('pki/removeKey', '{"a":1,"a":2}');
    await call('pki/removeKey', { keyReference: key });
    const outcomes = records()
      .filter(({ kind }) => kind === 'request')
      .slice(-5);
    expect(outcomes.map(({ operation, major, minor, status }) => [operation, status ?? `${String(major)}/${String(minor)}`])).toEqual([
      ['pki/checkKey', '0/0'],
      ['signature/sign', '2/202'],
      ['pki/removeKey', '1/101'],
      ['pki/removeKey', 400],
      ['pki/removeKey', '0/0'],
    ]);
  });

  it('records a request repeated with its Idempotency-Key with the outcome of the first one', async () => {
    const key = await newKey();
    const headers = { 'Idempotency-Key': randomUUID() };
    for (const body of [signRequest(key), signRequest(key), signRequest(key, 'another')])
      await call('signature/sign', body, 'app', headers);
    const [first, second, refused] = records()
      .filter(({ kind }) => kind === 'request')
      .slice(-3);
    expect([first?.['repeated'], second?.['repeated'], refused?.['status']]).toEqual([undefined, true, 422]);
    const said = ({ key: of, digests, major, minor }: Written): unknown => ({ key: of, digests, major, minor });
    expect(second && said(second)).toEqual(first && said(first));
    expect(second?.['digests']).toHaveLength(1);
  });

  it('holds no content, no secret and no subject', async () => {
    const key = await newKey();
    await call('signature/sign', signRequest(key));
    await call('signature/sign', signRequest({ ...key, password: 'a wrong one' }));
    const text = JSON.stringify(records());
    const content = Buffer.from('A very private document').toString('base64');
    for (const secret of [key.password, 'a wrong one', content, 'A very private', subject.commonName]) expect(text).not.toContain(secret);
  });
});

describe('signetctl audit', () => {
  it('verifies the log of a service that runs, with the key on its token', async () => {
    await newKey();
    const { status, stdout } = await signetctl('audit', 'verify');
    expect(stdout).toContain('the log is intact');
    expect(status).toBe(0);
  });

  it('verifies without the state store, by a public key', async () => {
    const publicKey = records()[0]?.['publicKey'];
    const file = join(service.environment.directory, 'audit-key.pem');
    writeFileSync(file, `-----BEGIN PUBLIC KEY-----\n${String(publicKey)}\n-----END PUBLIC KEY-----\n`);
    expect((await runHere('audit', 'verify', '--directory', logDirectory, '--public-key', file)).status).toBe(0);
    const checkpoint = records().findLast(({ kind }) => kind === 'checkpoint');
    const unknown = await runHere('audit', 'verify', '--public-key', file, '--known', `${String(checkpoint?.['n'])}:${'0'.repeat(64)}`);
    expect([unknown.status, unknown.stderr]).toEqual([1, expect.stringContaining('it is not the record that was here')]);
    expect((await runHere('audit', 'verify', '--public-key', file, '--known', 'nonsense')).status).toBe(2);
  });

  it('shows the last records, for people and as JSON', async () => {
    const key = await newKey();
    const { n } = records().find((record) => record['key'] === key.reference) ?? { n: 0 };
    // The service goes on recording work of its own, before and after.
    const { stdout } = await signetctl('audit', 'tail', '--lines', '20');
    expect(stdout).toMatch(new RegExp(`^\\S+Z {2}${String(n)} {2}app@demo {2}pki/createCertificate {2}0/0 {2}key ${key.reference}$`, 'm'));
    const before = records().length;
    const shown = JSON.parse((await runHere('--json', 'audit', 'tail', '--lines', '3')).stdout) as Written[];
    const after = records();
    const last = after.findIndex((record) => record['n'] === shown.at(-1)?.['n']);
    expect(shown).toEqual(after.slice(last - 2, last + 1));
    expect(last).toBeGreaterThanOrEqual(before - 1);
    expect((await runHere('audit', 'tail', '--lines', 'many')).status).toBe(2);
  });
});

describe('a service that stops', () => {
  it('sums up refused clients, and leaves out connections without a client', async () => {
    for (let count = 0; count < 3; count += 1) {
      await call('pki/createCertificate', certificateRequest(), 'unregistered');
      await call('pki/createCertificate', certificateRequest(), 'signer');
      await expect(call('pki/createCertificate', certificateRequest(), 'nobody')).rejects.toThrow();
    }
    await call('pki/nowhere', {});
    const before = records().length;
    await service.daemon.stop();
    // CRLs may be signed meanwhile.
    const added = records()
      .slice(before)
      .filter(({ command }) => command !== 'sign for an authority');
    expect(added.map(({ kind, reason, count, client }) => [kind, reason, count, client])).toEqual([
      ['refused-clients', 'not registered', 3, undefined],
      ['refused-clients', 'the role keys is missing', 3, 'signer'],
      ['refused-clients', 'no client certificate', 3, undefined],
      ['checkpoint', undefined, undefined, undefined],
      ['checkpoint', undefined, undefined, undefined],
    ]);
    expect(added[1]).toMatchObject({ tenant: 'demo', spki: expect.stringMatching(/^[0-9a-f]{16}$/) as string });
    expect((await runHere('audit', 'find', '--client', 'signer', '--outcome', 'refused')).stdout).toMatch(/who: +signer@demo\n[^]*3 times/);
  });

  it('names the first place of a log that was changed, also while the service is stopped', async () => {
    const file = join(logDirectory, 'audit-00000001.jsonl');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"minor":202', '"minor":0'));
    const line = text.slice(0, text.indexOf('"minor":202')).split('\n').length;
    const { status, stdout, stderr } = await runHere('audit', 'verify');
    expect([status, stderr]).toEqual([1, expect.stringContaining(`audit-00000001.jsonl, line ${line}: `)]);
    expect(stdout).toContain('DAMAGED');
    writeFileSync(file, text);
    expect((await runHere('audit', 'verify')).status).toBe(0);
  });
});

describe.skipIf(noSmallDisk !== undefined)(`a service whose audit disk is full${skipNote(noSmallDisk)}`, () => {
  it('stops what must be audited and nothing else, and recovers', async () => {
    const { daemon, description, opsUrl } = service;
    const disk = new SmallDisk(256 * 1024);
    try {
      await daemon.stop();
      writeFileSync(
        description.configFile,
        readFileSync(description.configFile, 'utf8').replace(logDirectory, join(disk.directory, 'audit')),
      );
      execFileSync('cp', ['-r', logDirectory, disk.directory]);
      await daemon.start();
      const key = await newKey();
      expect(codeOf(await call('signature/sign', signRequest(key)))).toBe('0/0');
      disk.fill();
      await vi.waitFor(async () => {
        expect(codeOf(await call('signature/sign', signRequest(key, 'again')))).toBe('2/243');
        // A short record may still fit into the last page, where a longer one did not.
        await delay(longerThanARetryMs);
        expect((await fetch(`${opsUrl}/health/ready`)).status).toBe(503);
      }, 20_000);
      const refused = await call('pki/createCertificate', certificateRequest());
      expect([refused.status, codeOf(refused), refused.body['certificate']]).toEqual([200, '2/243', undefined]);
      expect((await call('pki/createCertificate', certificateRequest(), 'unregistered')).status).toBe(403);
      for (const command of [
        ['client', 'list'],
        ['state', 'compare'],
      ]) {
        const looked = await runHere(...command);
        expect([looked.status, looked.stderr]).toEqual([1, expect.stringContaining('nothing was done: the audit log cannot be written')]);
      }
      expect((await fetch(`${opsUrl}/health/live`)).status).toBe(200);
      const ready = await fetch(`${opsUrl}/health/ready`);
      expect([ready.status, await ready.json()]).toEqual([503, expect.objectContaining({ faults: { audit: 'it takes no records' } })]);
      disk.empty();
      await vi.waitFor(
        async () => {
          expect((await fetch(`${opsUrl}/health/ready`)).status).toBe(200);
        },
        { timeout: 10_000 },
      );
      expect(codeOf(await call('signature/sign', signRequest(key)))).toBe('0/0');
      expect((await runHere('audit', 'verify')).status).toBe(0);
      expect((await runHere('audit', 'tail', '--lines', '10')).stdout).toMatch(/outage .*ENOSPC.* requests refused/);
    } finally {
      await daemon.stop();
      disk.remove();
    }
  });
});
