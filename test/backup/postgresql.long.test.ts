import { createHash } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { agentOf, newCertificate } from '../support/own-service.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { TwoDaemons } from '../support/two-daemons.ts';
import { Operator } from './operator.ts';

const environment = quickstartEnvironment();
const operator = new Operator();
let two: TwoDaemons;

beforeAll(async () => {
  two = await TwoDaemons.start(environment);
}, 300_000);

afterAll(async () => {
  await two.stop();
  environment.remove();
  operator.remove();
});

const Created = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('x').digest('base64') };
const ctl = async (name: string, ...args: string[]): Promise<CommandRun> =>
  signetctl(['--config', join(environment.directory, `${name}.yaml`), ...args]);

it('a backup of PostgreSQL that was made while both instances signed is restored into an empty database, and over another one', async () => {
  const [a, b] = two.instances;
  const agent = agentOf(environment.description(), 'other');
  const post = async (baseUrl: string, operation: string, body: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const sent = request(`${baseUrl}/sign/${operation}`, { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } });
      sent.on('response', (response) => {
        textOf(response).then((answer) => {
          resolve(JSON.parse(answer));
        }, reject);
      });
      sent.on('error', reject).end(JSON.stringify(body));
    });
  const { keyReference } = Created.parse(await post(a.baseUrl, 'pki/createCertificate', newCertificate()));
  const sign = async (baseUrl: string, password = keyReference.password): Promise<unknown> =>
    post(baseUrl, 'signature/sign', {
      keyReference: { ...keyReference, password },
      parameters: { rawSignature: {} },
      inputDocuments: [{ ID: 'd', digest }],
    });
  const signed = { result: { resultMajor: 0, resultMinor: 0 } };

  const ending = new AbortController();
  const callers = [a, b].map(async ({ baseUrl }) => {
    while (!ending.signal.aborted) {
      expect(await sign(baseUrl)).toMatchObject(signed);
      const { keyReference: other } = Created.parse(await post(baseUrl, 'pki/createCertificate', newCertificate()));
      await post(baseUrl, 'pki/removeKey', { keyReference: other });
    }
  });
  const backup = operator.file('postgresql.age');
  const made = await ctl('a', '--json', 'backup', 'create', '--output', backup, '--recipient', operator.recipient);
  ending.abort();
  await Promise.all(callers);
  expect([made.status, made.stderr]).toEqual([0, expect.stringContaining('not in the backup')]);

  const verified = await signetctl(['--json', 'backup', 'verify', backup, '--identity', operator.identity]);
  expect([verified.status, jsonOf(verified)]).toEqual([0, expect.objectContaining({ intact: true })]);
  expect(operator.unpacked(backup, 'cat state/postgresql.dump.* | pg_restore --list')).toContain('TABLE DATA public keys');

  const restore = async (...more: string[]): Promise<CommandRun> =>
    ctl('a', 'backup', 'restore', backup, '--identity', operator.identity, '--any-origin', '--only', 'state,audit', ...more);
  expect(await restore()).toMatchObject({ status: 5, stderr: expect.stringContaining('signetd is running') as unknown });
  await a.daemon.stop();
  const other = await restore('--replace');
  expect([other.status, other.stderr]).toEqual([5, expect.stringMatching(/signetd has \d+ connections to the database/)]);
  await b.daemon.stop();

  // An empty database, and no log of this instance: the account stays with the token host, which goes on for both.
  await two.postgresql.query('postgres', `drop database ${two.database}`);
  await two.postgresql.query('postgres', `create database ${two.database}`);
  renameSync(join(environment.directory, 'audit-a'), join(environment.directory, 'audit-a.before'));
  const stateOnly = await ctl('a', 'backup', 'restore', backup, '--identity', operator.identity, '--any-origin', '--only', 'state');
  expect(stateOnly.stdout).toContain(`database ${two.database}`);
  const full = await ctl('a', 'backup', 'restore', backup, '--identity', operator.identity, '--any-origin', '--only', 'state', '--replace');
  expect(full.stderr).not.toContain('not restored');
  expect(full.stdout).toMatch(/kept aside: +schema before_restore_\w+ of the database/);
  operator.unpacked(backup, `cp -r audit ${join(environment.directory, 'audit-a')}`);
  await a.daemon.start();
  expect(await sign(a.baseUrl)).toMatchObject(signed);
  expect(await sign(a.baseUrl, 'wrong')).toMatchObject({ result: { resultMajor: 2, resultMinor: 202 } });
  await a.daemon.stop();
  const audit = await ctl('a', 'audit', 'verify', '--no-account');
  expect([audit.status, audit.stderr]).toEqual([0, '']);
  agent.destroy();
  rmSync(join(environment.directory, 'audit-a.before'), { recursive: true });
}, 600_000);
