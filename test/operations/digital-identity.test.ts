import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { DigitalIdentityDescription } from '../../src/quickstart/digital-identity.ts';
import { textOf, type Body } from '../support/api.ts';
import { openssl } from '../support/openssl.ts';
import { OwnService } from '../support/own-service.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, type CommandRun } from '../support/signetctl.ts';

let service: OwnService;
let identity: DigitalIdentityDescription;

beforeAll(async () => {
  service = await OwnService.start();
  const { twoDDoc } = service.description;
  if (twoDDoc === undefined) throw new Error('the quickstart has an identity');
  identity = twoDDoc;
});
afterAll(async () => {
  await service.remove();
});

async function ask(operation: string, body: object, client = 'app'): Promise<{ readonly code: string; readonly body: Body }> {
  const answer = JSON.parse(await service.post(operation, body, client)) as Body;
  const { majorCode = answer['status'], minorCode = '' } = answer['result'] ?? {};
  return { code: `${textOf(majorCode)}/${textOf(minorCode)}`, body: answer };
}

const keyReference = (password?: string): object => ({
  reference: identity.keyReference,
  ...(password === undefined ? {} : { password }),
});
const run = async (...args: string[]): Promise<CommandRun> => signetctlHere(['--config', service.description.configFile, ...args]);
const named = (): string[] => ['--tenant', 'demo', '--ca', identity.caId, '--certificate-id', identity.certificateId];
const state = async (): Promise<string | undefined> =>
  (jsonOf(await run('--json', 'twoddoc', 'identity', 'list')) as { state: string }[])[0]?.state;
const auditLog = (): string => readFileSync(join(service.environment.directory, 'audit', 'audit-00000001.jsonl'), 'utf8');

describe('the digital identity of the quickstart', () => {
  it('is described for callers: its certificate is that of its key, issued by a CA of tests', async () => {
    const { certificate, keyReference: reference, documentTypes, password } = identity;
    expect([identity.caId, identity.certificateId, service.description.doc2dRoot]).toEqual(['FR00', '0001', '/doc2d']);
    const text = openssl(['x509', '-in', certificate, '-noout', '-subject', '-issuer', '-fingerprint', '-sha1', '-nameopt', 'RFC2253']);
    expect(text).toContain('subject=CN=0001,OU=0002 000000000,O=signetd quickstart,C=FR\nissuer=CN=FR00,');
    expect(text.replaceAll(':', '').toLowerCase()).toContain(reference);
    expect(documentTypes).toContain('01');
    expect(password).toMatch(/^[A-Za-z0-9_-]{27}$/);
    expect(await state()).toBe('ok');
  });

  it('checkKey says its state and whether the password is right, to its tenant alone', async () => {
    const { code, body } = await ask('pki/checkKey', { keyReference: keyReference(identity.password) });
    expect([code, body['state'], body['secretVerified'], body['remainingAttempts'], body['boundDigests']]).toEqual([
      '0/0',
      'ACTIVE',
      true,
      5,
      [],
    ]);
    const der = Buffer.from(textOf(body['certificate']), 'base64');
    expect(openssl(['x509', '-inform', 'DER', '-in', '{der}', '-noout', '-subject'], { der })).toContain('CN = 0001');
    expect(body['keyReference']).toEqual({ reference: identity.keyReference });
    expect((await ask('pki/checkKey', { keyReference: keyReference() }, 'other')).code).toBe('2/201');
    const wrong = await ask('pki/checkKey', { keyReference: keyReference('wrong') });
    expect([wrong.code, wrong.body['secretVerified'], wrong.body['remainingAttempts']]).toEqual(['0/0', false, 4]);
    expect((await ask('pki/checkKey', { keyReference: keyReference(identity.password) })).body['remainingAttempts']).toBe(5);
  });

  it('changePassword replaces its password', async () => {
    const change = async (from: string, to: string): Promise<string> =>
      (await ask('pki/changePassword', { keyReference: keyReference(from), password: to })).code;
    expect(await change('wrong', 'un autre mot de passe')).toBe('2/202');
    expect(await change(identity.password, 'un autre mot de passe')).toBe('0/0');
    expect(await change(identity.password, 'encore un autre')).toBe('2/202');
    expect(await change('un autre mot de passe', identity.password)).toBe('0/0');
    expect((await ask('pki/checkKey', { keyReference: keyReference(identity.password) })).body['secretVerified']).toBe(true);
  });

  it('removeKey and sendOTP are refused with what is offered instead, and its certificate is none of this service', async () => {
    const removal = await ask('pki/removeKey', { keyReference: keyReference(identity.password) });
    expect([removal.code, removal.body['result']?.['message']]).toEqual([
      '1/104',
      expect.stringContaining('signetctl twoddoc identity remove'),
    ]);
    const signerData = { digest: [{ id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: Buffer.alloc(32).toString('base64') }] };
    const otp = { action: 'SIGN', signerData, keyReference: identity.keyReference };
    expect((await ask('pki/sendOTP', otp)).code).toBe('1/104');
    expect((await ask('pki/sendOTP', otp, 'other')).code).toBe('2/201');
    const certificate = readFileSync(identity.certificate, 'utf8').replaceAll(/-----[A-Z ]+-----|\s/g, '');
    expect((await ask('pki/revokeCertificate', { certificate, reason: 'KEY_COMPROMISE' })).code).toBe('2/211');
  });

  it('is locked by wrong passwords, and unlocked by an operator; the log has the guesses with its row', async () => {
    for (let guess = 0; guess < 5; guess += 1) await ask('pki/checkKey', { keyReference: keyReference(`guess ${guess}`) });
    const locked = await ask('pki/checkKey', { keyReference: keyReference(identity.password) });
    expect([locked.body['state'], locked.body['secretVerified'], locked.body['lockedUntil']]).toEqual([
      'LOCKED',
      undefined,
      expect.any(Number),
    ]);
    expect(await state()).toMatch(/^locked until /);
    const { status, stdout } = await run('twoddoc', 'identity', 'unlock', ...named());
    expect([status, stdout]).toEqual([0, 'The attempts of the key are reset; it has 5.\n']);
    expect((await ask('pki/checkKey', { keyReference: keyReference(identity.password) })).body['secretVerified']).toBe(true);
    expect(auditLog()).toMatch(/"kind":"failed attempt","identity":"[0-9a-f]{40}"/);
    expect(auditLog()).toMatch(/"command":"identity unlock"/);
    const unknown = await run('twoddoc', 'identity', 'unlock', '--tenant', 'other', '--ca', 'FR00', '--certificate-id', '0001');
    expect([unknown.status, unknown.stderr]).toEqual([5, expect.stringContaining('other has no key for the identity FR00 0001')]);
  });

  it('cannot be reloaded without its key or with a wrong certificate; the one in force stays', async () => {
    const file = service.description.configFile;
    const original = readFileSync(file, 'utf8');
    interface Settings {
      readonly tenants: { readonly demo: { readonly twoDDoc: { readonly identities: object[] } } };
    }
    const settings = parse(original) as Settings;
    const { identities } = settings.tenants.demo.twoDDoc;
    for (const [changes, fault] of [
      [{ certificateId: '0002' }, 'the common name is "0001", not 0002'],
      [{ certificate: '/nowhere.pem' }, 'no such file'],
    ] as const) {
      const changed = {
        ...settings.tenants.demo,
        twoDDoc: { ...settings.tenants.demo.twoDDoc, identities: [{ ...identities[0], ...changes }] },
      };
      writeFileSync(file, stringify({ ...settings, tenants: { ...settings.tenants, demo: changed } }));
      const { status, stderr } = await run('reload');
      expect([status, stderr]).toEqual([5, expect.stringMatching(/tenants\.demo\.twoDDoc\.identities\.0: /)]);
      expect(stderr).toContain(fault);
    }
    writeFileSync(file, original);
    expect((await run('reload')).status).toBe(0);
    expect((await ask('pki/checkKey', { keyReference: keyReference(identity.password) })).code).toBe('0/0');
  });

  it('is removed by an operator: from then on it has no key', async () => {
    const { status, stdout } = await run('twoddoc', 'identity', 'remove', ...named());
    expect([status, stdout]).toEqual([0, expect.stringContaining('Private key destroyed')]);
    const checked = await ask('pki/checkKey', { keyReference: keyReference(identity.password) });
    expect([checked.code, checked.body['result']?.['message']]).toEqual(['2/204', expect.stringContaining('has no key')]);
    expect(await state()).toBe('no key: signetctl twoddoc identity add makes it');
    expect((await run('twoddoc', 'identity', 'remove', ...named())).status).toBe(5);
    const reload = await run('reload');
    expect([reload.status, reload.stderr]).toEqual([5, expect.stringContaining('identities.0: the digital identity has no key')]);
    // The service starts nevertheless, and says so.
    await service.daemon.stop();
    await service.daemon.start();
    expect((await ask('pki/checkKey', { keyReference: keyReference() })).code).toBe('2/204');
  });
});
