import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { openssl } from '../../support/openssl.ts';
import type { QuickstartEnvironment } from '../../support/quickstart-environment.ts';
import { notRoot, skipNote } from '../../support/skip-note.ts';
import { approvedOnce, daemon, nobody, root, TwoGroups, type Pending } from './two-groups.ts';

let two: TwoGroups;
let output: string;

beforeAll(async () => {
  if (notRoot === undefined) two = await TwoGroups.start({ prepare: withClientAuthority });
});
afterAll(async () => {
  if (notRoot === undefined) await two.remove();
});
beforeEach(() => {
  output = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-out-'));
});
afterEach(() => {
  rmSync(output, { recursive: true, force: true });
});

/** The root of the quickstart issues clients too. */
function withClientAuthority(environment: QuickstartEnvironment): void {
  const { configFile } = environment.description();
  const [both, certificate] = [join(environment.directory, 'tls/clients.pem'), join(environment.directory, 'pki/root.pem')];
  writeFileSync(both, [certificate, join(environment.directory, 'tls/ca.pem')].map((file) => readFileSync(file, 'utf8')).join(''));
  const config = parseDocument(readFileSync(configFile, 'utf8'));
  config.setIn(['clientAuthority'], { certificate, keyId: config.getIn(['certificateAuthorities', 'root', 'keyId']) });
  config.setIn(['listeners', 'api', 'clientCertificateAuthority'], both);
  config.setIn(['listeners', 'api', 'clientRevocationLists'], []);
  writeFileSync(configFile, String(config));
}

const words = ({ details }: Pending): Record<string, string> => Object.fromEntries(details);

const issue = (name: string, ...more: string[]): string[] => [
  ...['client', 'issue', '--name', name, '--tenant', 'other', '--roles', 'keys,signature', '--directory', output, ...more],
];

/** The records of a request that was approved and has issued and registered. */
const recordsOf = (command: string): string[] => [
  'approval request by 0, asked by 0, approved by nobody',
  ...[`approve by ${nobody.uid}`, `${command} by 0`, 'client add by 0'].map((what) => `${what}, asked by 0, approved by ${nobody.uid}`),
];

describe.skipIf(notRoot !== undefined)(`the certificate of a client, with admin.approvals: 2${skipNote(notRoot)}`, () => {
  it('is issued and registered by one approval, twice in a row', async () => {
    for (const name of ['issued', 'issued too']) {
      const pending = await approvedOnce(two, two.asRoot(...issue(name)));
      expect(pending.command).toBe('client issue');
      expect(words(pending)).toMatchObject({
        ...{ signs: 'a certificate', subject: `CN=${name}`, registers: `the client "${name}"`, tenant: 'other', roles: 'keys, signature' },
      });
      expect(words(pending)['with the key']).toContain('(CA root, clientAuthority)');
      expect(await two.clientNames()).toContain(name);
      expect(two.recordsOf(pending.id)).toEqual(recordsOf('client issue'));
    }
  });

  it.each([
    ['with a new key', 'registers', () => []],
    ['with the key of a request', 'registers', () => ['--csr', newRequest()]],
    ['with its present key', 'registers again', (present: string) => ['--certificate', present]],
    ['with a new key and the old one revoked', 'registers', () => ['--revoke-old']],
  ])('is renewed %s by one approval, twice in a row', async (name, registers, options) => {
    await approvedOnce(two, two.asRoot(...issue(name)));
    const present = join(output, readdirSync(output).find((file) => file.endsWith('.pem')) ?? '');
    for (let round = 0; round < 2; round += 1) {
      const directory = mkdtempSync(join(output, 'renewed-'));
      const renew = ['client', 'renew', await newestKeyOf(name), '--directory', directory];
      const pending = await approvedOnce(two, two.asRoot(...renew, ...options(present)));
      expect(pending.command).toBe('client renew');
      expect(words(pending)[registers]).toBe(`the client "${name}"`);
      expect(two.recordsOf(pending.id)).toEqual(recordsOf('client renew'));
      expect(readdirSync(directory)).toContainEqual(expect.stringMatching(/\.pem$/));
    }
  });

  it('is not made where a user refuses it, which leaves no client and no files, twice in a row', async () => {
    for (const name of ['unwanted', 'unwanted too']) {
      const run = two.asRoot(...issue(name));
      await two.decide(nobody, 'refuse', await two.theOne());
      expect((await run).status).toBe(9);
      expect(await two.clientNames()).not.toContain(name);
      expect(readdirSync(output)).toEqual([]);
    }
    await approvedOnce(two, two.asRoot(...issue('unwanted')));
  });

  it('is registered by its approval once, and only by the user who asked', async () => {
    await approvedOnce(two, two.asRoot(...issue('granted')));
    const [file = ''] = readdirSync(output).filter((name) => name.endsWith('.pem'));
    const certificate = new X509Certificate(readFileSync(join(output, file))).raw.toString('base64');
    const request = { command: 'client add', certificate, name: 'granted', tenant: 'other', roles: ['keys', 'signature'], replace: false };
    for (const user of [root, daemon]) {
      const given = two.give(user, request);
      expect(await two.decide(nobody, 'refuse', await two.theOne())).toMatchObject({ outcome: 'done' });
      expect(await given.answer).toMatchObject({ outcome: 'not approved' });
    }
  });
});

/** Makes a key and a request (PKCS #10) for it. Answers the path of the request. */
function newRequest(): string {
  const directory = mkdtempSync(join(output, 'request-'));
  const key = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
  const csr = join(directory, 'own.csr');
  writeFileSync(csr, openssl(['req', '-new', '-key', '{key}', '-subj', '/CN=of a request'], { key }));
  return csr;
}

const Clients = z.array(z.looseObject({ name: z.string(), publicKey: z.string(), registered: z.string() }));

/** The public key that was registered last for a client, as `client renew` takes it. */
async function newestKeyOf(name: string): Promise<string> {
  const { stdout } = await two.asRoot('--json', 'client', 'list');
  const own = Clients.parse(JSON.parse(stdout)).filter((client) => client.name === name);
  return own.toSorted((one, other) => one.registered.localeCompare(other.registered)).at(-1)?.publicKey ?? expect.unreachable();
}
