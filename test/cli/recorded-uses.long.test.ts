import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config/config.ts';
import { OwnService } from '../support/own-service.ts';
import { signetctl, type CommandRun } from '../support/signetctl.ts';

const Line = z.looseObject({
  n: z.number(),
  kind: z.string(),
  uid: z.number().optional(),
  command: z.string().optional(),
  uses: z.array(z.string()).optional(),
  certificate: z.object({ serialNumber: z.string(), subject: z.string(), notBefore: z.string(), notAfter: z.string() }).optional(),
});
type Line = z.output<typeof Line>;

let service: OwnService;
let files: string;

beforeAll(async () => {
  service = await OwnService.start();
  files = mkdtempSync(join(tmpdir(), 'signetd-recorded-'));
}, 300_000);

afterAll(async () => {
  await service.remove();
  rmSync(files, { recursive: true, force: true });
});

const ctl = async (...command: string[]): Promise<CommandRun> =>
  signetctl(['--config', service.description.configFile, '--json', ...command]);

/** All records of the audit log. */
function lines(): Line[] {
  const { directory } = loadConfig(service.description.configFile).audit;
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trim().split('\n'))
    .map((line) => Line.parse(JSON.parse(line)));
}

/** Has the root sign another certificate of the issuing CA; answers what the command said. */
const certify = async (name: string): Promise<CommandRun> =>
  ctl('ca', 'certify', '--authority', 'issuing', '--by', 'root', '--directory', files, '--file', name, '--years', '1');

/** Expects one record of what the certificate in this file took, by this command. */
function expectRecord(found: readonly Line[], command: string, pem: string): void {
  const certificate = new X509Certificate(readFileSync(pem));
  const records = found.filter((line) => line.command === command && line.certificate !== undefined);
  expect(records).toHaveLength(1);
  const [record] = records;
  expect(record?.uses).toEqual([expect.stringMatching(/^sign 52[0-9a-f]{32} ECDSA sha/)]);
  expect(record?.uid).toBe(process.getuid?.());
  expect(record?.certificate).toEqual({
    serialNumber: expect.stringMatching(new RegExp(`^0*${certificate.serialNumber}$`, 'i')) as unknown,
    subject: expect.stringContaining('CN=') as unknown,
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
  });
}

it.each(['once', 'twice'])('a running service records what the root signs for an operator, before it does, %s', async (time) => {
  const before = lines().length;
  const done = await certify(`running-${time}.pem`);
  expect([done.status, done.stderr]).toEqual([0, expect.not.stringContaining('does not record')]);
  expectRecord(lines().slice(before), 'ca certify', join(files, `running-${time}.pem`));
  expect((await ctl('audit', 'verify')).status).toBe(0);
});

it.each(['once', 'twice'])('a stopped service has it in its log at the next start, %s', async (time) => {
  await service.daemon.stop();
  const before = lines().length;
  const done = await certify(`stopped-${time}.pem`);
  expect(done.status, done.stderr).toBe(0);
  await service.daemon.start();
  expectRecord(lines().slice(before), 'ca certify', join(files, `stopped-${time}.pem`));
  expect((await ctl('audit', 'verify')).status).toBe(0);
});

it('names the certificate of a client that is registered', async () => {
  const before = lines().length;
  const pem = service.description.clients['other']?.certificate ?? '';
  const done = await ctl('client', 'add', '--certificate', pem, '--name', 'other', '--tenant', 'other', '--roles', 'keys', '--replace');
  expect(done.status, done.stderr).toBe(0);
  const [added] = lines()
    .slice(before)
    .filter(({ command }) => command === 'client add');
  const certificate = new X509Certificate(readFileSync(pem));
  expect(added?.certificate).toMatchObject({
    serialNumber: expect.stringMatching(new RegExp(`^0*${certificate.serialNumber}$`, 'i')) as unknown,
    notAfter: certificate.validToDate.toISOString(),
  });
});

it.each(['once', 'twice'])('nothing is signed where nobody can record it, %s', async (time) => {
  // The process is there and has the state store, but answers nobody.
  service.daemon.signal('SIGSTOP');
  try {
    const done = await certify(`silent-${time}.pem`);
    expect(done.status).not.toBe(0);
    expect(done.stderr).toContain('nothing was signed, since the audit log could not record it first');
    expect(existsSync(join(files, `silent-${time}.pem`))).toBe(false);
  } finally {
    service.daemon.signal('SIGCONT');
  }
});
