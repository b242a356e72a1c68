import { createHash, randomInt, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { Description } from '../../src/quickstart/description.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { openssl } from '../support/openssl.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { StateCopy } from '../support/state-copy.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

let service: OwnService;
let description: Description;
let publicUrl: string;
/** The issuing CA, PEM. */
let issuer: string;

beforeAll(async () => {
  service = await OwnService.start();
  description = service.description;
  publicUrl = `http://127.0.0.1:${Number(new URL(service.baseUrl).port) + 2}`;
  issuer = new X509Certificate(Buffer.from(await (await fetch(`${publicUrl}/pki/issuing.cer`)).arrayBuffer())).toString();
}, 300_000);

afterAll(async () => {
  await service.remove();
});

const Result = z.union([
  z.object({ majorCode: z.number(), minorCode: z.number() }).transform(({ majorCode, minorCode }) => `${majorCode}/${minorCode}`),
  z.object({ resultMajor: z.number(), resultMinor: z.number() }).transform((code) => `${code.resultMajor}/${code.resultMinor}`),
]);
const Answer = z.looseObject({ result: Result, state: z.string().optional() });
const Created = z.object({
  keyReference: z.object({ reference: z.string(), password: z.string().optional(), authToken: z.string().optional() }),
  certificate: z.string(),
});
type Key = z.output<typeof Created>;

const post = async (operation: string, body: object) => Answer.parse(JSON.parse(await service.post(operation, body)));
const codeOf = async (operation: string, body: object): Promise<string> => (await post(operation, body)).result;
const newKey = async (protocol = 'PASSWORD'): Promise<Key> =>
  Created.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate(protocol))));
const stateOf = async ({ keyReference: { reference } }: Key): Promise<string | undefined> =>
  (await post('pki/checkKey', { keyReference: { reference } })).state;
const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('x').digest('base64') };
const sign = async ({ keyReference }: Pick<Key, 'keyReference'>): Promise<string> =>
  codeOf('signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [{ ID: 'd', digest }] });
const revoke = async ({ certificate }: Key, reason: string): Promise<string> => codeOf('pki/revokeCertificate', { certificate, reason });
const ctl = async (...command: string[]): Promise<CommandRun> => signetctl(['--config', description.configFile, ...command]);

/** What `openssl ocsp` says of a certificate; its whole output where it got no answer. */
function ocsp({ certificate }: Key): string {
  const der = Buffer.from(certificate, 'base64');
  const leaf = new X509Certificate(der).toString();
  const trusted = readFileSync(description.trustAnchors[0] ?? '');
  try {
    const said = openssl(
      ['ocsp', '-issuer', '{issuer}', '-cert', '{leaf}', '-url', `${publicUrl}/ocsp/issuing`, '-CAfile', '{trusted}', '-partial_chain'],
      { issuer, leaf, trusted },
    );
    return /leaf: (\w+)/.exec(said)?.[1] ?? said;
  } catch (error) {
    return `no answer: ${String(error)}`;
  }
}

interface Crl {
  readonly number: bigint;
  readonly serials: ReadonlySet<string>;
}

async function crl(): Promise<Crl> {
  const response = await fetch(`${publicUrl}/pki/issuing.crl`);
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  const text = openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-text'], { crl: Buffer.from(await response.arrayBuffer()) });
  return {
    number: BigInt(/X509v3 CRL Number:\s*(?:critical)?\s*(0x[0-9A-F]+|\d+)/i.exec(text)?.[1] ?? 'absent'),
    serials: new Set([...text.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, hex = '']) => hex)),
  };
}

const serialOf = ({ certificate }: Key): string => new X509Certificate(Buffer.from(certificate, 'base64')).serialNumber;

const Compared = z.looseObject({
  isOlder: z.boolean(),
  lacking: z.array(z.looseObject({ effect: z.string(), key: z.string().optional() })),
});

describe('a state store that is restored from before', () => {
  it('is not ready until the operator confirms, and has the revocations and removals again then', async () => {
    const [revoked, removed, held, released, changed, guessed, kept, reviled] = await Promise.all(
      Array.from({ length: 8 }, async () => newKey()),
    );
    const consumed = await newKey('SINGLE_USE');
    if (!revoked || !removed || !held || !released || !changed || !guessed || !kept || !reviled) throw new Error('eight keys');
    expect(await revoke(released, 'CERTIFICATE_HOLD')).toBe('0/0');
    expect(await revoke(reviled, 'CERTIFICATE_HOLD')).toBe('0/0');
    await service.daemon.stop();
    const copy = StateCopy.ofStopped(service.environment.directory);

    await service.daemon.start();
    expect(await revoke(revoked, 'KEY_COMPROMISE')).toBe('0/0');
    expect(await codeOf('pki/removeKey', { keyReference: removed.keyReference })).toBe('0/0');
    expect(await revoke(held, 'CERTIFICATE_HOLD')).toBe('0/0');
    expect(await revoke(released, 'REMOVE_FROM_CRL')).toBe('0/0');
    expect(await revoke(reviled, 'KEY_COMPROMISE')).toBe('0/0');
    expect(await codeOf('pki/changePassword', { keyReference: changed.keyReference, password: 'a longer pass phrase' })).toBe('0/0');
    expect(await sign({ keyReference: { ...guessed.keyReference, password: 'no' } })).toBe('2/202');
    expect(await sign(consumed)).toBe('0/0');
    expect(await sign(kept)).toBe('0/0');
    const since = await newKey();
    const sinceRevoked = await newKey();
    expect(await revoke(sinceRevoked, 'KEY_COMPROMISE')).toBe('0/0');
    const ended = (await crl()).serials;
    expect(ended).toContain(serialOf(revoked));
    const { number } = await crl();
    const keysOnToken = privateKeysOnToken(service.environment.directory);
    await service.daemon.stop();

    copy.restore();
    copy.remove();
    const said = await service.daemon.startAndAsk();
    expect(said.status).toBe(503);
    expect(said.text).toContain('the state store is older than the audit log');
    expect(said.text).toContain('signetctl state compare');
    // Nothing good leaves: neither an answer nor an older CRL.
    expect(ocsp(revoked)).toContain('no answer');
    expect((await fetch(`${publicUrl}/pki/issuing.crl`)).status).toBe(503);
    const refused = await service.post('signature/sign', {});
    expect(JSON.parse(refused)).toMatchObject({ status: 503, title: 'Service Unavailable' });

    const status = await ctl('status');
    expect(status.status).toBe(1);
    expect(status.stderr).toContain('older than the audit log');
    const doctor = await ctl('doctor');
    expect(doctor.stdout).toMatch(/fault +state store +.*older than the audit log/);
    expect((await ctl('key', 'list')).stderr).toContain('signetctl state confirm');

    const compared = await ctl('state', 'compare', '--json');
    expect(compared.status).toBe(1);
    const { isOlder, lacking } = Compared.parse(jsonOf(compared));
    expect(isOlder).toBe(true);
    const told = (key: Key) => lacking.filter((one) => one.key === key.keyReference.reference).map(({ effect }) => effect);
    expect(told(revoked)).toEqual(['the certificate is revoked']);
    expect(told(removed)).toEqual(['the key is out of use']);
    expect(told(consumed)).toEqual(['the key is out of use']);
    expect(told(changed)).toEqual(['the password of the key was changed']);
    expect(told(guessed)).toEqual(['a failed attempt is counted']);
    expect(told(kept)).toEqual(['the secret was right']);
    expect(told(since)).toEqual(['the key and its certificate exist']);

    const verified = await ctl('audit', 'verify');
    expect([verified.status, verified.stderr]).toEqual([1, expect.stringContaining('the state store is older')]);
    expect(verified.stderr).not.toContain('.jsonl');

    // A restart finds it again: nothing has hidden it.
    await service.daemon.kill();
    expect((await service.daemon.startAndAsk()).status).toBe(503);
    const confirmed = await ctl('state', 'confirm');
    expect([confirmed.status, confirmed.stderr]).toEqual([0, expect.stringContaining(since.keyReference.reference)]);
    expect(await service.daemon.ended()).toBe(0);
    await service.daemon.start();

    expect(ocsp(revoked)).toBe('revoked');
    expect(ocsp(held)).toBe('revoked');
    expect(ocsp(reviled)).toBe('revoked');
    expect(ocsp(released)).toBe('good');
    expect(ocsp(kept)).toBe('good');
    expect(ocsp(sinceRevoked)).toBe('revoked');
    expect(ocsp(since)).toBe('unknown');
    const now = await crl();
    expect(now.serials).toEqual(ended);
    expect(now.number).toBeGreaterThan(number);
    expect(await stateOf(revoked)).toBe('REVOKED');
    expect(await stateOf(removed)).toBe('REMOVED');
    expect(await stateOf(consumed)).toBe('CONSUMED');
    expect(await stateOf(held)).toBe('ON_HOLD');
    expect(await stateOf(released)).toBe('ACTIVE');
    expect(await stateOf(reviled)).toBe('REVOKED');
    // Its old password, which somebody may know by now, is no use.
    expect(await stateOf(changed)).toBe('LOCKED');
    expect(await sign(changed)).toBe('2/203');
    expect(await post('pki/checkKey', { keyReference: { reference: guessed.keyReference.reference } })).toMatchObject({
      remainingAttempts: 4,
    });
    expect(await sign(kept)).toBe('0/0');
    // The key whose record is lost stays where it is.
    expect(privateKeysOnToken(service.environment.directory)).toEqual(expect.arrayContaining(keysOnToken));

    const records = readFileSync(join(service.environment.directory, 'audit', 'audit-00000001.jsonl'), 'utf8');
    expect(records).toContain('"command":"state confirm"');
    // The kill above may have cut the record of a use, which the account of the token host names then.
    expect((await ctl('audit', 'verify', '--no-account')).status).toBe(0);
    const again = await ctl('state', 'compare', '--json');
    expect([again.status, jsonOf(again)]).toEqual([0, expect.objectContaining({ isOlder: false, lacking: [] })]);
    expect((await ctl('state', 'confirm')).stderr).toContain('is not older');
  }, 300_000);

  it('is detected even if it is only a moment old and the service was killed', async () => {
    const key = await newKey();
    const copy = StateCopy.ofRunning(service.environment.directory);
    expect(await revoke(key, 'KEY_COMPROMISE')).toBe('0/0');
    await service.daemon.kill();
    copy.restore();
    copy.remove();
    expect((await service.daemon.startAndAsk()).status).toBe(503);
    // However it is cut short: all of it is done, or nothing.
    const confirming = ctl('state', 'confirm');
    await new Promise((resolve) => setTimeout(resolve, randomInt(200, 600)));
    await service.daemon.kill();
    await confirming;
    if ((await service.daemon.startAndAsk()).status === 503) {
      expect((await ctl('state', 'confirm')).status).toBe(0);
      await service.daemon.ended();
      await service.daemon.start();
    } else {
      await service.daemon.ready();
    }
    expect(ocsp(key)).toBe('revoked');
    expect(await stateOf(key)).toBe('REVOKED');
  }, 300_000);

  it('that is new has every revocation again, under whatever name the log goes on', async () => {
    const { configFile } = description;
    const key = await newKey();
    expect(await revoke(key, 'SUPERSEDED')).toBe('0/0');
    for (const name of ['signetd', 'second', 'third']) {
      const { number, serials } = await crl();
      await service.daemon.stop();
      StateCopy.removeStore(service.environment.directory);
      const config = parseDocument(readFileSync(configFile, 'utf8'));
      config.setIn(['audit', 'name'], name);
      writeFileSync(configFile, config.toString());
      const said = await service.daemon.startAndAsk();
      expect([name, said.status, said.text]).toEqual([name, 503, expect.stringContaining('it holds no place in the log')]);
      expect(ocsp(key)).toContain('no answer');
      const compared = await ctl('state', 'compare');
      expect([compared.status, compared.stderr]).toEqual([1, expect.stringContaining('does not know the key that signed the log')]);
      await service.daemon.kill();
      expect((await service.daemon.startAndAsk()).status).toBe(503);
      const confirmed = await ctl('state', 'confirm');
      expect([confirmed.status, confirmed.stderr]).toEqual([0, expect.stringContaining(key.keyReference.reference)]);
      await service.daemon.ended();
      await service.daemon.start();
      expect([name, ocsp(key)]).toEqual([name, 'revoked']);
      const now = await crl();
      expect(now.serials).toEqual(serials);
      expect(now.number).toBeGreaterThan(number);
      // What was confirmed stays confirmed, also after a crash.
      await service.daemon.kill();
      await service.daemon.start();
    }
  }, 300_000);
});
