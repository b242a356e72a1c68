import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  call,
  certificateRequest,
  codeOf,
  contentDocument,
  directory,
  messageOf,
  newKey,
  secretOf,
  textOf,
  type ApiAnswer,
  type ClientName,
} from '../support/api.ts';
import { keyIdOf } from '../support/quickstart-state.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const signWith = async (client: ClientName, keyReference: object): Promise<ApiAnswer> =>
  call(client, 'signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] });
const check = async (client: ClientName, keyReference: object): Promise<ApiAnswer> =>
  call(client, 'pki/checkKey', { keyReference, requestID: 'c' });
const remove = async (client: ClientName, keyReference: object): Promise<ApiAnswer> => call(client, 'pki/removeKey', { keyReference });
/** A one-time password for the document of `signWith`; undefined where the key is locked. */
const otpFor = async (client: ClientName, keyReference: string): Promise<string | undefined> => {
  const digestValue = createHash('sha256').update('x').digest('base64');
  const digest = [{ id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue }];
  const answer = await call(client, 'pki/sendOTP', { action: 'SIGN', keyReference, signerData: { digest } });
  return codeOf(answer) === '0/0' ? textOf(answer.body['password']) : undefined;
};

describe('checkKey', () => {
  it('tells state, certificate, end and attempts', async () => {
    const key = await newKey('other');
    const { body } = await check('other', { reference: key.reference });
    expect(body).toEqual({
      result: { majorCode: 0, minorCode: 0, message: 'success' },
      requestID: 'c',
      keyReference: { reference: key.reference },
      state: 'ACTIVE',
      certificate: key.certificate.toString('base64'),
      notAfter: expect.any(Number) as number,
      remainingAttempts: 5,
      boundDigests: [],
    });
    expect(Number(body['notAfter'])).toBeGreaterThan(Date.now());
  });

  it('tells a right password from a wrong one, and counts the wrong one until the next success', async () => {
    const key = await newKey('other');
    const wrong = await check('other', { reference: key.reference, password: 'wrong' });
    expect([codeOf(wrong), wrong.body['secretVerified'], wrong.body['remainingAttempts']]).toEqual(['0/0', false, 4]);
    const right = await check('other', secretOf(key));
    expect([right.body['secretVerified'], right.body['remainingAttempts']]).toEqual([true, 5]);
    const inWrongMember = await check('other', { reference: key.reference, authToken: key.password });
    expect(inWrongMember.body).not.toHaveProperty('secretVerified');
  });

  it("answers 2/201 for no key and for another tenant's, with one text", async () => {
    const key = await newKey('other');
    const answers = [await check('app', { reference: key.reference }), await check('app', { reference: '00'.repeat(20) })];
    expect(answers.map(codeOf)).toEqual(['2/201', '2/201']);
    expect(messageOf(answers[0] as ApiAnswer)).toBe(messageOf(answers[1] as ApiAnswer));
  });
});

describe('wrong passwords', () => {
  it('are 2/202 five times, then 2/203 even for the right one, and checkKey says until when', async () => {
    const key = await newKey('other');
    const wrong = { reference: key.reference, password: 'wrong' };
    const codes: string[] = [];
    for (let attempt = 0; attempt < 6; attempt += 1) codes.push(codeOf(await signWith('other', wrong)));
    expect(codes).toEqual(['2/202', '2/202', '2/202', '2/202', '2/202', '2/203']);
    const locked = await signWith('other', secretOf(key));
    expect([codeOf(locked), messageOf(locked)]).toEqual(['2/203', expect.stringMatching(/locked until \d{4}-/)]);
    expect(codeOf(await remove('other', secretOf(key)))).toBe('2/203');
    const { body } = await check('other', secretOf(key));
    expect([body['state'], body['remainingAttempts']]).toEqual(['LOCKED', 0]);
    expect(body).not.toHaveProperty('secretVerified');
    expect(Number(body['lockedUntil']) - Date.now()).toBeGreaterThan(14 * 60_000);
  });

  it('are compared thirty times, whatever is right in between; then the key is locked, and checkKey says until when', async () => {
    const key = await newKey('other');
    const wrong = { reference: key.reference, password: 'wrong' };
    const compared: unknown[] = [];
    const isCompared = async (): Promise<unknown> => (await check('other', secretOf(key))).body['secretVerified'];
    while ((await isCompared()) === true) {
      for (let guess = 0; guess < 3; guess += 1) {
        const { body } = await check('other', wrong);
        if (body['secretVerified'] !== undefined) compared.push(body['secretVerified']);
      }
    }
    expect(compared).toEqual(Array.from({ length: 30 }, () => false));
    expect(codeOf(await signWith('other', secretOf(key)))).toBe('2/203');
    const { body } = await check('other', { reference: key.reference });
    expect([body['state'], body['remainingAttempts']]).toEqual(['LOCKED', 0]);
    // Other secrets are refused as fast: nobody waits for attempts that are not there.
    for (const secret of [{ password: 'wrong' }, { password: '12345678' }, { ...secretOf(key), transactionId: 'T-9' }]) {
      const began = performance.now();
      expect(codeOf(await signWith('other', { reference: key.reference, ...secret }))).toBe('2/203');
      expect((await check('other', { reference: key.reference, ...secret })).body).not.toHaveProperty('secretVerified');
      expect(performance.now() - began).toBeLessThan(10_000);
    }
    // One more is compared after five minutes.
    expect(Number(body['lockedUntil']) - Date.now()).toBeGreaterThan(2 * 60_000);
    expect(Number(body['lockedUntil']) - Date.now()).toBeLessThanOrEqual(5 * 60_000);
  });

  it('sent fifty at once are evaluated five times and no more', async () => {
    const key = await newKey('other');
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => signWith('other', { reference: key.reference, password: `guess ${index}` })),
    );
    const codes = answers.map(codeOf);
    expect(codes.filter((code) => code === '2/202').length).toBe(5);
    expect(codes.filter((code) => code === '2/203').length).toBe(45);
  });

  it('are counted even if one-time passwords are right meanwhile: guesses end with the fifth', async () => {
    const key = await newKey('other');
    const evaluated: unknown[] = [];
    for (let guess = 0; guess < 8; guess += 1) {
      const wrong = await check('other', { reference: key.reference, password: `guess ${guess}` });
      if (wrong.body['secretVerified'] !== undefined) evaluated.push(wrong.body['secretVerified']);
      const password = await otpFor('other', key.reference);
      if (password !== undefined) await check('other', { reference: key.reference, password });
      if (guess === 2 && password !== undefined) {
        expect(codeOf(await signWith('other', { reference: key.reference, password }))).toBe('0/0');
        expect((await check('other', { reference: key.reference })).body['remainingAttempts']).toBe(2);
      }
    }
    expect(evaluated).toEqual([false, false, false, false, false]);
    expect((await check('other', { reference: key.reference })).body['state']).toBe('LOCKED');
  });

  it('are not reset by a right transactionId, but by the password', async () => {
    const { body } = await call('other', 'pki/createCertificate', certificateRequest({ transactionId: 'T-1' }));
    const { reference, password } = body['keyReference'] as unknown as { reference: string; password: string };
    const left = async (): Promise<unknown> => (await check('other', { reference })).body['remainingAttempts'];
    for (let guess = 0; guess < 2; guess += 1) await check('other', { reference, password: 'wrong', transactionId: 'T-1' });
    const hold = { certificate: body['certificate'], reason: 'CERTIFICATE_HOLD', transactionId: 'T-1' };
    expect(codeOf(await call('other', 'pki/revokeCertificate', hold))).toBe('0/0');
    expect(await left()).toBe(3);
    await check('other', { reference, password, transactionId: 'T-1' });
    expect(await left()).toBe(5);
  });

  it('of a key that has only one-time passwords are reset by one of them', async () => {
    const request = certificateRequest({ signatureActivationProtocol: 'OTP' });
    const { body } = await call('other', 'pki/createCertificate', request);
    const reference = textOf(body['keyReference']?.['reference']);
    for (let round = 0; round < 2; round += 1) {
      for (let guess = 0; guess < 4; guess += 1) await check('other', { reference, password: 'wrong' });
      const password = await otpFor('other', reference);
      expect((await check('other', { reference, password: password ?? '' })).body['remainingAttempts']).toBe(5);
    }
  });

  it('do not exclude others: forty right ones at once all succeed', async () => {
    const key = await newKey('other');
    const answers = await Promise.all(Array.from({ length: 40 }, async () => signWith('other', secretOf(key))));
    expect(new Set(answers.map(codeOf))).toEqual(new Set(['0/0']));
  });
});

describe('a secret', () => {
  const operations = [signWith, check, remove] as const;

  it('that is empty is 1/102, and no attempt', async () => {
    const key = await newKey('other');
    for (const operation of operations) {
      for (const secret of [{ password: '' }, { authToken: '' }]) {
        const answer = await operation('other', { reference: key.reference, ...secret });
        expect([codeOf(answer), messageOf(answer)]).toEqual([
          '1/102',
          `/keyReference/${Object.keys(secret)[0]}: a secret must not be empty`,
        ]);
      }
    }
    expect((await check('other', { reference: key.reference })).body['remainingAttempts']).toBe(5);
  });

  it('of another kind beside the right one is 1/103, and no attempt', async () => {
    const key = await newKey('other');
    for (const operation of operations) {
      expect(codeOf(await operation('other', { ...secretOf(key), authToken: 'x' }))).toBe('1/103');
    }
    expect((await check('other', { reference: key.reference })).body['remainingAttempts']).toBe(5);
  });
});

describe('removeKey', () => {
  it('destroys the private key on the token and keeps the certificate', async () => {
    const key = await newKey('other');
    const id = keyIdOf(key.reference);
    expect(privateKeysOnToken(directory)).toContain(id);
    expect(codeOf(await remove('other', secretOf(key)))).toBe('0/0');
    expect(privateKeysOnToken(directory)).not.toContain(id);
    const { body } = await check('other', { reference: key.reference });
    expect([body['state'], body['certificate']]).toEqual(['REMOVED', key.certificate.toString('base64')]);
    expect(codeOf(await signWith('other', secretOf(key)))).toBe('2/204');
    expect(codeOf(await remove('other', secretOf(key)))).toBe('2/204');
  });

  it('answers a wrong password with 2/202, counts it, and needs one', async () => {
    const key = await newKey('other');
    expect(codeOf(await remove('other', { reference: key.reference, password: 'wrong' }))).toBe('2/202');
    expect((await check('other', { reference: key.reference })).body['remainingAttempts']).toBe(4);
    expect(codeOf(await remove('other', { reference: key.reference }))).toBe('1/101');
    expect(codeOf(await remove('app', secretOf(key)))).toBe('2/201');
    expect(codeOf(await signWith('other', secretOf(key)))).toBe('0/0');
  });

  it('sent ten times at once succeeds once', async () => {
    const key = await newKey('other');
    const codes = (await Promise.all(Array.from({ length: 10 }, async () => remove('other', secretOf(key))))).map(codeOf);
    expect(codes.filter((code) => code === '0/0').length).toBe(1);
    expect(codes.filter((code) => code === '2/204').length).toBe(9);
  });
});
