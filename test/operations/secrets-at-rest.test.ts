import { createHash, createHmac, scryptSync } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, contentDocument, directory, textOf } from '../support/api.ts';
import { queryState } from '../support/quickstart-state.ts';

const client = 'other';
const chosen = 'correct horse battery staple';
const digest = {
  id: 'd',
  digestAlgOID: '2.16.840.1.101.3.4.2.1',
  digestValue: createHash('sha256').update('x').digest('base64'),
};

async function create(signatureActivationProtocol: string): Promise<Record<string, string>> {
  const { body } = await call(client, 'pki/createCertificate', certificateRequest({ signatureActivationProtocol }));
  return body['keyReference'] as unknown as Record<string, string>;
}

const sign = async (keyReference: object): Promise<string> =>
  codeOf(await call(client, 'signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] }));

/** Everything that the service wrote: store with its journal, log, audit log. Not the token, nor what the quickstart's own client keeps. */
function written(): Buffer {
  const files = [
    ...readdirSync(directory).filter((name) => name.startsWith('state.sqlite') || name.endsWith('.log')),
    ...readdirSync(join(directory, 'audit')).map((name) => join('audit', name)),
  ].filter((name) => statSync(join(directory, name)).isFile());
  return Buffer.concat(files.map((name) => readFileSync(join(directory, name))));
}

/** What a secret can look like: itself and what a guess could be compared with, as bytes, hexadecimal and base64. */
function looks(secret: string, salts: readonly Buffer[]): Buffer[] {
  const bytes = Buffer.from(secret);
  const derived = [
    bytes,
    ...['md5', 'sha1', 'sha256', 'sha512'].flatMap((hash) => [
      createHash(hash).update(bytes).digest(),
      ...salts.flatMap((salt) => [
        createHash(hash).update(salt).update(bytes).digest(),
        createHash(hash).update(bytes).update(salt).digest(),
        createHmac(hash, salt).update(bytes).digest(),
        createHmac(hash, bytes).update(salt).digest(),
      ]),
    ]),
    ...salts.map((salt) => scryptSync(bytes, salt, 32)),
  ];
  return derived.flatMap((value) => [value, Buffer.from(value.toString('hex')), Buffer.from(value.toString('base64').replace(/=+$/, ''))]);
}

describe('what the service writes', () => {
  it('holds no secret, and nothing to check a guess against without the token', async () => {
    const secrets = new Map<string, string>();
    const password = await create('PASSWORD');
    secrets.set(password['password'] ?? '', password['reference'] ?? '');
    expect(await sign(password)).toBe('0/0');
    expect(codeOf(await call(client, 'pki/changePassword', { keyReference: password, password: chosen }))).toBe('0/0');
    secrets.set(chosen, password['reference'] ?? '');
    expect(await sign({ ...password, password: chosen })).toBe('0/0');
    const single = await create('SINGLE_USE');
    secrets.set(single['authToken'] ?? '', single['reference'] ?? '');
    expect(await sign({ ...single, authToken: 'wrong' })).toBe('2/202');
    const otp = await create('OTP');
    const sent = await call(client, 'pki/sendOTP', { action: 'SIGN', keyReference: otp['reference'], signerData: { digest: [digest] } });
    secrets.set(textOf(sent.body['password']), otp['reference'] ?? '');

    const all = written();
    expect(all.length).toBeGreaterThan(10_000);
    // The search finds what is there.
    expect(all.includes(otp['reference'] ?? 'absent')).toBe(true);
    for (const [secret, reference] of secrets) {
      expect(secret.length).toBeGreaterThanOrEqual(8);
      const salts = queryState(
        'select secret_salt as salt from keys where reference = ? union select salt from otps where reference = ?',
        reference,
        reference,
      ).map(({ salt }) => Buffer.from(salt as Uint8Array));
      expect(salts.length).toBeGreaterThan(0);
      for (const look of looks(secret, salts)) expect(all.includes(look)).toBe(false);
    }
  });
});
