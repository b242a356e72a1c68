import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { contentDocument, textOf } from '../support/api.ts';
import { agentOf, newCertificate, OwnService } from '../support/own-service.ts';

const burst = 12;
const Configuration = z.looseObject({
  limits: z.record(z.string(), z.number()),
  tenants: z.record(z.string(), z.record(z.string(), z.unknown())),
});

let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const { tenants, ...config } = Configuration.parse(parse(readFileSync(configFile, 'utf8')));
    const lax = { ...tenants, other: { ...tenants['other'], refuseCommonPasswords: false } };
    const limits = { wrongSecretsBurstPerClient: burst, wrongSecretsPerMinutePerClient: 0.1 };
    writeFileSync(configFile, stringify({ ...config, tenants: lax, limits: { ...config.limits, ...limits } }));
  });
});
afterAll(async () => {
  await service.remove();
});

interface Answer {
  readonly status: number;
  readonly retryAfter: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(path: string, body: object, client = 'app'): Promise<Answer> {
  const agent = agentOf(service.description, client, { keepAlive: false });
  return new Promise((resolve, reject) => {
    const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const sent = httpsRequest(`${service.baseUrl}${path}`, options, (response) => {
      text(response).then((answer) => {
        const parsed = z.record(z.string(), z.unknown()).parse(answer === '' ? {} : JSON.parse(answer));
        resolve({ status: response.statusCode ?? 0, retryAfter: Number(response.headers['retry-after']), body: parsed });
      }, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

interface Key {
  readonly reference: string;
  readonly password: string;
  readonly authToken: string;
  readonly certificate: string;
}

async function newKey(protocol = 'PASSWORD', client = 'app'): Promise<Key> {
  const { body } = await ask('/sign/pki/createCertificate', newCertificate(protocol), client);
  const { reference, password, authToken } = z.record(z.string(), z.string()).parse(body['keyReference']);
  return { reference: reference ?? '', password: password ?? '', authToken: authToken ?? '', certificate: textOf(body['certificate']) };
}

const codeOf = ({ status, body }: Answer): string => {
  const { majorCode, minorCode, resultMajor, resultMinor } = z.record(z.string(), z.unknown()).parse(body['result'] ?? {});
  return status === 200 ? `${textOf(majorCode ?? resultMajor)}/${textOf(minorCode ?? resultMinor)}` : String(status);
};
const sign = async (keyReference: object, client?: string): Promise<Answer> =>
  ask('/sign/signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] }, client);
const metric = async (name: string): Promise<number> => {
  const lines = (await (await fetch(`${service.opsUrl}/metrics`)).text()).split('\n');
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
};
const hash = createHash('sha256').update('x').digest('base64');
const algorithm = { signAlgo: '1.2.840.113549.1.1.11', hashAlgo: '2.16.840.1.101.3.4.2.1' };

describe('a new password that is tried first', () => {
  const changed = async ({ reference, password }: Key, next: string, client?: string): Promise<string> => {
    const answer = await ask('/sign/pki/changePassword', { keyReference: { reference, password }, password: next }, client);
    const { message } = z.record(z.string(), z.unknown()).parse(answer.body['result']);
    return `${codeOf(answer)} ${textOf(message)}`;
  };

  it('is refused, and counts as no attempt', async () => {
    const key = await newKey();
    const refused = '1/102 /password: this is one of the passwords that are tried first: choose another one';
    for (const password of ['password', 'Sunshine2026!', 'P4$$w0rd']) expect(await changed(key, password)).toBe(refused);
    expect(await changed(key, 'app-app-app-')).toMatch(/^1\/102 .*only repeats/);
    const checked = await ask('/sign/pki/checkKey', { keyReference: { reference: key.reference } });
    expect(checked.body['remainingAttempts']).toBe(5);
    expect(await changed(key, 'a longer pass phrase')).toBe('0/0 success');
    const { twoDDoc } = service.description;
    const identity = { ...key, reference: twoDDoc?.keyReference ?? '', password: twoDDoc?.password ?? '' };
    expect(await changed(identity, 'password')).toBe(refused);
  });

  it('is taken in a tenant that switches this off', async () => {
    expect(await changed(await newKey('PASSWORD', 'other'), 'password', 'other')).toBe('0/0 success');
  });
});

describe('a client that tries passwords on many keys', () => {
  const keys: Key[] = [];
  let singleUse: Key;
  let sad = '';

  beforeAll(async () => {
    for (let made = 0; made < burst / 3 + 1; made += 1) keys.push(await newKey());
    singleUse = await newKey('SINGLE_USE');
    const [first] = keys;
    const authorised = await ask('/csc/v1/credentials/authorize', {
      ...{ credentialID: first?.reference, numSignatures: 1, hash: [hash], PIN: first?.password },
    });
    sad = textOf(authorised.body['SAD']);
    expect(sad).not.toBe('');
  });

  it('is told of wrong ones as often as the configuration lets it, and no key is locked', async () => {
    for (const { reference } of keys.slice(0, burst / 3)) {
      for (const password of ['123456789', 'password1', 'qwertyuiop']) expect(codeOf(await sign({ reference, password }))).toBe('2/202');
    }
    expect(await metric('signetd_wrong_secrets_total')).toBe(burst);
  });

  it('then has no secret compared, right or wrong, by any operation: 429 with a time', async () => {
    const [first] = keys;
    const { reference = '', password = '' } = first ?? {};
    const { twoDDoc } = service.description;
    const certificate = new X509Certificate(readFileSync(twoDDoc?.certificate ?? ''));
    expect(certificate.fingerprint.replaceAll(':', '').toLowerCase()).toBe(twoDDoc?.keyReference.toLowerCase());
    const signHash = { credentialID: reference, hash: [hash], ...algorithm };
    const right: readonly (readonly [string, object])[] = [
      [
        '/sign/signature/sign',
        { keyReference: { reference, password }, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] },
      ],
      ['/sign/pki/checkKey', { keyReference: { reference, password } }],
      ['/sign/pki/changePassword', { keyReference: { reference, password }, password: 'a longer pass phrase' }],
      ['/sign/pki/removeKey', { keyReference: { reference, password } }],
      ['/sign/pki/revokeCertificate', { certificate: first?.certificate, password, reason: 'KEY_COMPROMISE' }],
      ['/sign/pki/checkKey', { keyReference: { reference: singleUse.reference, authToken: singleUse.authToken } }],
      ['/sign/pki/checkKey', { keyReference: { reference: singleUse.reference, authToken: 'junk' } }],
      ['/sign/pki/checkKey', { keyReference: { reference: twoDDoc?.keyReference, password: twoDDoc?.password } }],
    ];
    const csc: readonly (readonly [string, object])[] = [
      ['/csc/v1/credentials/authorize', { credentialID: reference, numSignatures: 1, hash: [hash], PIN: password }],
      [
        '/csc/v2/credentials/authorize',
        { credentialID: reference, numSignatures: 1, hashes: [hash], authData: [{ id: 'OTP', value: '1' }] },
      ],
      ['/csc/v1/signatures/signHash', { ...signHash, SAD: sad }],
      ['/csc/v1/signatures/signHash', { ...signHash, SAD: `${sad.slice(0, -4)}AAAA` }],
      ['/csc/v1/credentials/extendTransaction', { credentialID: reference, hash: [hash], SAD: sad }],
    ];
    for (const [path, body] of [...right, ...csc]) {
      const answer = await ask(path, body);
      expect([path, answer.status]).toEqual([path, 429]);
      expect(answer.retryAfter).toBeGreaterThan(60);
      const message = 'too many wrong secrets came from this client or its tenant; for a while none is compared';
      if (path.startsWith('/csc')) expect(answer.body).toEqual({ error: 'temporarily_unavailable', error_description: message });
      else expect(answer.body).toMatchObject({ status: 429, code: '2/206', resultMajor: 2, resultMinor: 206, detail: message });
    }
    expect(await metric('signetd_paced_secrets_total{scope="client"}')).toBe(right.length + csc.length);
    expect(await metric('signetd_wrong_secrets_total')).toBe(burst);
  });

  it('still does what needs no secret, and other clients of its tenant sign', async () => {
    const [first] = keys;
    const { reference = '', password = '' } = first ?? {};
    const checked = await ask('/sign/pki/checkKey', { keyReference: { reference } });
    expect([codeOf(checked), checked.body['remainingAttempts']]).toEqual(['0/0', 2]);
    expect(codeOf(await ask('/sign/pki/createCertificate', newCertificate()))).toBe('0/0');
    expect(codeOf(await sign({ reference, password }, 'signer'))).toBe('0/0');
    const other = await newKey('PASSWORD', 'other');
    expect(codeOf(await sign({ reference: other.reference, password: randomBytes(9).toString('hex') }, 'other'))).toBe('2/202');
  });

  it('has more again after a reload with other limits', async () => {
    const { configFile } = service.description;
    const before = readFileSync(configFile, 'utf8');
    writeFileSync(configFile, before.replace(/wrongSecretsPerMinutePerClient: .*/, 'wrongSecretsPerMinutePerClient: 6000'));
    service.daemon.signal('SIGHUP');
    const [first] = keys;
    await expect.poll(async () => codeOf(await sign({ reference: first?.reference, password: first?.password }))).toBe('0/0');
    writeFileSync(configFile, before);
    service.daemon.signal('SIGHUP');
    await expect.poll(async () => codeOf(await sign({ reference: first?.reference, password: first?.password }))).toBe('429');
  });

  it('has no more after a restart, and the audit log tells of it', async () => {
    const file = join(service.environment.directory, 'audit', 'audit-00000001.jsonl');
    await service.daemon.stop();
    const records = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => z.looseObject({ kind: z.string() }).parse(JSON.parse(line)));
    const [told, ...more] = records.filter(({ kind }) => kind === 'wrong-secrets');
    expect(more).toEqual([]);
    expect(told).toMatchObject({ reason: 'more than the client may send', client: 'app', tenant: 'demo' });
    expect(Number(told?.['count'])).toBeGreaterThan(12);
    await service.daemon.start();
    const [first] = keys;
    expect(codeOf(await sign({ reference: first?.reference, password: first?.password }))).toBe('429');
  });
});
