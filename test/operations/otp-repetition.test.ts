import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, contentDocument, textOf } from '../support/api.ts';

const client = 'other';
const digest = [
  {
    id: 'd',
    digestAlgOID: '2.16.840.1.101.3.4.2.1',
    digestValue: createHash('sha256').update('x').digest('base64'),
  },
];

async function newKey(): Promise<string> {
  const { body } = await call(client, 'pki/createCertificate', certificateRequest({ signatureActivationProtocol: 'OTP' }));
  return textOf(body['keyReference']?.['reference']);
}

/** Sends the request with an Idempotency-Key; answers the one-time password. */
async function otp(keyReference: string, idempotencyKey: string): Promise<string> {
  const request = { action: 'SIGN', keyReference, signerData: { digest } };
  const answer = await call(client, 'pki/sendOTP', request, { 'Idempotency-Key': idempotencyKey });
  expect(codeOf(answer)).toBe('0/0');
  return textOf(answer.body['password']);
}

const sign = async (reference: string, password: string): Promise<string> =>
  codeOf(
    await call(client, 'signature/sign', {
      keyReference: { reference, password },
      parameters: { rawSignature: {} },
      inputDocuments: [contentDocument('x')],
    }),
  );

describe('a repeated sendOTP', () => {
  it('is answered with the same one-time password as long as that is open', async () => {
    const [key, again] = [await newKey(), randomUUID()];
    const first = await otp(key, again);
    expect(await sign(key, '00000000')).toBe('2/202');
    expect(await otp(key, again)).toBe(first);
    expect(await sign(key, first)).toBe('0/0');
  });

  it('makes another once it was used', async () => {
    const [key, again] = [await newKey(), randomUUID()];
    const first = await otp(key, again);
    expect(await sign(key, first)).toBe('0/0');
    const second = await otp(key, again);
    expect(second).not.toBe(first);
    expect(await otp(key, again)).toBe(second);
    expect(await sign(key, second)).toBe('0/0');
  });

  it('makes another once a newer one replaced it, or its attempts are used up', async () => {
    const [key, again] = [await newKey(), randomUUID()];
    const first = await otp(key, again);
    const newer = await otp(key, randomUUID());
    const second = await otp(key, again);
    expect(new Set([first, newer, second]).size).toBe(3);
    expect(await sign(key, newer)).toBe('2/202');
    for (let attempt = 0; attempt < 2; attempt += 1) await sign(key, '00000000');
    const third = await otp(key, again);
    expect(await sign(key, third)).toBe('0/0');
  });
});
