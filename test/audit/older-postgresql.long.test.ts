import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { agentOf, newCertificate } from '../support/own-service.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { signetctl } from '../support/signetctl.ts';
import { TwoDaemons } from '../support/two-daemons.ts';

const environment = quickstartEnvironment();
let two: TwoDaemons;

beforeAll(async () => {
  two = await TwoDaemons.start(environment);
}, 300_000);

afterAll(async () => {
  await two.stop();
  environment.remove();
});

const Created = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }), certificate: z.string() });

it('a PostgreSQL database that is restored is older for both instances, for the one that did nothing since as well', async () => {
  const [a, b] = two.instances;
  const agent = agentOf(environment.description(), 'other');
  const post = async (operation: string, body: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const sent = request(`${a.baseUrl}/sign/${operation}`, { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } });
      sent.on('response', (response) => {
        textOf(response).then((answer) => {
          resolve(JSON.parse(answer));
        }, reject);
      });
      sent.on('error', reject).end(JSON.stringify(body));
    });
  const { keyReference } = Created.parse(await post('pki/createCertificate', newCertificate()));
  const { reference } = keyReference;
  const { database, postgresql } = two;
  const backup = postgresql.dump(database);

  expect(await post('pki/removeKey', { keyReference })).toMatchObject({ result: { majorCode: 0 } });
  await Promise.all(two.instances.map(async ({ daemon }) => daemon.stop()));
  await postgresql.query('postgres', `drop database ${database}`);
  await postgresql.query('postgres', `create database ${database}`);
  postgresql.restore(database, backup);

  for (const [name, { daemon }] of Object.entries({ a, b })) {
    const { status, text } = await daemon.startAndAsk();
    expect([name, status, text]).toEqual([name, 503, expect.stringContaining('older than the audit log')]);
  }
  for (const [name, { daemon }] of Object.entries({ a, b })) {
    const config = `${environment.directory}/${name}.yaml`;
    const confirmed = await signetctl(['--config', config, 'state', 'confirm']);
    expect([name, confirmed.status, confirmed.stderr]).toEqual([name, 0, '']);
    expect(await daemon.ended()).toBe(0);
    await daemon.start();
  }
  expect(await post('pki/checkKey', { keyReference: { reference } })).toMatchObject({ state: 'REMOVED' });
  agent.destroy();
}, 600_000);

it('an instance waits once before a database that it has never seen, whatever its log is called, while another one writes into it', async () => {
  const [a, b] = two.instances;
  const { postgresql } = two;
  const path = `${environment.directory}/b.yaml`;
  for (const name of ['b', 'c']) {
    const database = `unseen_${name}`;
    await Promise.all(two.instances.map(async ({ daemon }) => daemon.stop()));
    await postgresql.query('postgres', `create database ${database}`);
    for (const [file, log] of Object.entries({ a: 'a', b: name })) {
      const config = parseDocument(readFileSync(`${environment.directory}/${file}.yaml`, 'utf8'));
      config.setIn(['state', 'database'], database);
      config.setIn(['audit', 'name'], log);
      writeFileSync(`${environment.directory}/${file}.yaml`, config.toString());
    }
    // The first one goes on in the new database, and writes from now on.
    expect((await a.daemon.startAndAsk()).status).toBe(503);
    expect((await signetctl(['--config', `${environment.directory}/a.yaml`, 'state', 'confirm'])).status).toBe(0);
    await a.daemon.ended();
    await a.daemon.start();
    const other = { isWriting: true };
    const writing = (async () => {
      while (other.isWriting) expect((await signetctl(['--config', `${environment.directory}/a.yaml`, 'client', 'list'])).status).toBe(0);
    })();
    const { status, text } = await b.daemon.startAndAsk();
    expect([name, status, text]).toEqual([name, 503, expect.stringContaining('older than the audit log')]);
    expect((await signetctl(['--config', path, 'state', 'confirm'])).status).toBe(0);
    await b.daemon.ended();
    for (const round of [1, 2]) {
      expect([name, round, (await b.daemon.startAndAsk()).text]).toEqual([name, round, expect.not.stringContaining('older')]);
      await b.daemon.ready();
      await b.daemon.kill();
    }
    await b.daemon.start();
    other.isWriting = false;
    await writing;
    // The other one's place is untouched.
    await a.daemon.kill();
    await a.daemon.start();
  }
}, 600_000);
