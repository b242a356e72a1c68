import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf, type Body } from '../../support/api.ts';
import { newCertificate, OwnService } from '../../support/own-service.ts';
import { signetctlHere } from '../../support/signetctl-here.ts';
import { authorizeRequest, extendRequest, newHash, signDocRequest, signHashRequest, versions, type Version } from './csc-caller.ts';

let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
});

afterAll(async () => {
  await service.remove();
});

interface AuditRecord {
  readonly kind: string;
  readonly operation?: string;
  readonly key?: string;
  readonly digests?: readonly string[];
  readonly major?: number;
  readonly minor?: number;
  readonly effects?: readonly { readonly effect: string }[];
}

function written(): string {
  const directory = join(service.environment.directory, 'audit');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('');
}

function lastRecord(): AuditRecord {
  const records = written()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditRecord);
  return records.findLast(({ kind }) => kind === 'request') ?? { kind: 'none' };
}

const post = async (operation: string, body: object, client = 'other', root = '/csc'): Promise<Body> =>
  JSON.parse(await service.post(operation, body, client, { root })) as Body;

async function newKey(): Promise<{ id: string; pin: string; certificate: string }> {
  const { keyReference, certificate } = await post('pki/createCertificate', newCertificate(), 'other', '/sign');
  return { id: textOf(keyReference?.['reference']), pin: textOf(keyReference?.['password']), certificate: textOf(certificate) };
}

async function authorised({ id, pin }: { readonly id: string; readonly pin: string }, hashes: readonly string[]): Promise<string> {
  const answer = await post('v2/credentials/authorize', authorizeRequest('v2', id, { pin }, { hashes }));
  return textOf(answer['SAD']);
}

const hexOf = (hash: string): string => Buffer.from(hash, 'base64').toString('hex');
const failure = 'a failed attempt is counted';

describe.each(versions)('the audit record of a refusal of %s', (version: Version) => {
  it('has the key, the digests, the code and what was counted', async () => {
    const key = await newKey();
    const hashes = [newHash()];
    const list = expect.stringMatching(/^list-of-1:sha256:[0-9a-f]{64}$/) as string;
    const signed = hashes.map((hash) => `sha256:${hexOf(hash)}`);
    const sad = await authorised(key, hashes);
    const wrong = `${sad.slice(0, -8)}${sad.endsWith('AAAAAAAA') ? 'BBBBBBBB' : 'AAAAAAAA'}`;
    const expired = Buffer.from(sad, 'base64url').fill(0, 16, 22).toString('base64url');
    // A failed attempt of the key is that of a PIN alone.
    const cases: [string, object, number, { digests: string[]; effects: string[] }][] = [
      [
        'credentials/authorize',
        authorizeRequest(version, key.id, { pin: 'a wrong secret' }, { hashes }),
        202,
        { digests: [list], effects: [failure] },
      ],
      ['credentials/extendTransaction', extendRequest(version, key.id, wrong, hashes), 202, { digests: [list], effects: [] }],
      ['signatures/signHash', signHashRequest(version, key.id, wrong, hashes), 202, { digests: signed, effects: [] }],
      ['signatures/signHash', signHashRequest(version, key.id, expired, hashes), 202, { digests: [], effects: [] }],
      [
        'signatures/signHash',
        signHashRequest(version, key.id, sad, [newHash()]),
        205,
        { digests: [expect.stringMatching(/^sha256:/) as string], effects: ['the secret was right; the activation data is used up'] },
      ],
    ];
    for (const [method, request, minor, { digests, effects }] of cases) {
      expect(await post(`${version}/${method}`, request)).toHaveProperty('error');
      const record = lastRecord();
      const { operation, key: named, major } = record;
      expect([operation, named, major, record.minor]).toEqual([`csc/${version}/${method}`, key.id, 2, minor]);
      expect([record.digests ?? [], (record.effects ?? []).map(({ effect }) => effect)]).toEqual([digests, effects]);
    }
  });

  it('of a success says what was opened and used up', async () => {
    const key = await newKey();
    const hashes = [newHash()];
    const sad = await authorised(key, hashes);
    expect(lastRecord().effects?.map(({ effect }) => effect)).toEqual(['activation data is open for 1 signature']);
    await post(`${version}/signatures/signHash`, signHashRequest(version, key.id, sad, hashes));
    expect(lastRecord()).toMatchObject({
      ...{ operation: `csc/${version}/signatures/signHash`, key: key.id, major: 0, digests: [`sha256:${hexOf(hashes[0] ?? '')}`] },
      effects: [{ effect: 'the secret was right; the activation data is used up' }],
    });
  });
});

describe('what the service writes', () => {
  it('holds no PIN, no activation data and no part of it, right or wrong', async () => {
    const key = await newKey();
    const hashes = [newHash()];
    const secrets = [key.pin, 'a wrong secret of nobody'];
    for (const version of versions) {
      await post(`${version}/credentials/authorize`, authorizeRequest(version, key.id, { pin: 'a wrong secret of nobody' }, { hashes }));
      const [first, second, third] = [await authorised(key, hashes), await authorised(key, hashes), await authorised(key, hashes)];
      const extended = await post(`${version}/credentials/extendTransaction`, extendRequest(version, key.id, first, hashes));
      await post(`${version}/signatures/signHash`, signHashRequest(version, key.id, textOf(extended['SAD']), hashes));
      await post(`${version}/signatures/signHash`, signHashRequest(version, key.id, second, [newHash()]));
      await post('v2/signatures/signDoc', signDocRequest(key.id, third, ['x']));
      secrets.push(first, second, third, textOf(extended['SAD']));
      // The secret of the data alone, which is after its identifier and its time.
      for (const sad of [first, second, third]) secrets.push(Buffer.from(sad, 'base64url').subarray(22).toString('base64url'));
    }
    await service.daemon.stop();
    const { directory } = service.environment;
    const files = readdirSync(directory).filter((name) => name.startsWith('state.sqlite') || name.endsWith('.log'));
    const all = Buffer.concat([Buffer.from(written()), ...files.map((name) => readFileSync(join(directory, name)))]);
    await service.daemon.start();
    expect(all.includes(key.id)).toBe(true);
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(8);
      const bytes = Buffer.from(secret, 'base64url');
      for (const look of [secret, bytes.toString('hex'), bytes.toString('base64')])
        expect([secret, all.includes(look)]).toEqual([secret, false]);
      if (bytes.length >= 32) expect([secret, all.includes(bytes.subarray(-32))]).toEqual([secret, false]);
    }
  });
});

describe('a client that may not sign', () => {
  it('is refused every method', async () => {
    const { configFile, clients } = service.description;
    const replaced = [
      '--certificate',
      clients['p384']?.certificate ?? '',
      '--name',
      'p384',
      '--tenant',
      'p384',
      '--roles',
      'keys',
      '--replace',
    ];
    expect((await signetctlHere(['--config', configFile, 'client', 'add', ...replaced])).status).toBe(0);
    for (const version of versions) {
      for (const method of ['info', 'credentials/list', 'credentials/authorize', 'signatures/signHash', 'signatures/timestamp']) {
        const { error, error_description: text } = await post(`${version}/${method}`, {}, 'p384');
        expect([method, error]).toEqual([method, 'access_denied']);
        expect(textOf(text)).toContain('"signature"');
      }
    }
  });
});
