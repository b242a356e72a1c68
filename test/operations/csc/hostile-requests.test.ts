import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, description, newKey, send, type ApiAnswer, type TestKey } from '../../support/api.ts';

const client = 'other';
const hash = (text: string): string => createHash('sha256').update(text).digest('base64');
const sha256Oid = '2.16.840.1.101.3.4.2.1';
const wrongPin = { status: 400, body: { error: 'invalid_pin', error_description: 'The PIN is invalid' } };

async function csc(method: string, body: object): Promise<ApiAnswer> {
  const path = `${description.cscRoot ?? ''}/${method}`;
  return send(client, { path, headers: { 'Content-Type': 'application/json' } }, JSON.stringify(body));
}

const authorise = async ({ reference, password }: TestKey, changes: object = {}): Promise<ApiAnswer> =>
  csc('v1/credentials/authorize', { credentialID: reference, numSignatures: 1, hash: [hash('a')], PIN: password, ...changes });

async function keyWith(changes: object, certificationRequestInfo: Record<string, unknown> = {}): Promise<TestKey> {
  const { body } = await call(client, 'pki/createCertificate', { ...certificateRequest(certificationRequestInfo), ...changes });
  return { ...(body['keyReference'] as unknown as Pick<TestKey, 'reference' | 'password'>), certificate: Buffer.alloc(0) };
}

const remainingAttempts = async ({ reference }: TestKey): Promise<unknown> =>
  (await call(client, 'pki/checkKey', { keyReference: { reference } })).body['remainingAttempts'];

describe('credentials/authorize', () => {
  it('tells nobody without the PIN which hashes the key is bound to, and counts the attempt', async () => {
    const key = await keyWith({ signerData: { digest: [{ id: 'a', digestAlgOID: sha256Oid, digestValue: hash('a') }] } });
    expect(await authorise(key, { PIN: 'wrong', hash: [hash('b')] })).toMatchObject(wrongPin);
    expect(await authorise(key, { PIN: 'wrong' })).toMatchObject(wrongPin);
    expect(await remainingAttempts(key)).toBe(3);
    const bound = { error: 'invalid_request', error_description: 'The credential is bound to other documents' };
    expect(await authorise(key, { hash: [hash('b')] })).toMatchObject({ status: 400, body: bound });
    expect(await authorise(key)).toMatchObject({ status: 200 });
  });

  it('takes clientData of any length that is not the transaction for a wrong PIN', async () => {
    const key = await keyWith({}, { transactionId: 'order 7' });
    expect(await authorise(key, { clientData: 'x'.repeat(70_000) })).toMatchObject(wrongPin);
    expect(await remainingAttempts(key)).toBe(4);
    expect(await authorise(key, { clientData: 'order 7' })).toMatchObject({ status: 200 });
  });

  it('names the parameter that was probably meant', async () => {
    const answer = await authorise(await newKey(client), { clientdata: 'x' });
    expect(answer.body['error_description']).toBe('Unknown parameter clientdata: unknown field; did you mean "clientData"?');
  });
});

describe('signatures/signHash', () => {
  it('refuses parameters of RSASSA-PSS with another trailer than that of RFC 8017, and hashes that keys do not sign', async () => {
    const asked = { credentialID: '0'.repeat(40), SAD: 'x', hash: [hash('a')], signAlgo: '1.2.840.113549.1.1.10' };
    // SHA-256, MGF1 with SHA-256, a salt of 32 octets, trailerField 2.
    const signAlgoParams = Buffer.from(
      '3035a00d300b0609608648016503040201a11a301806092a864886f70d010108300b0609608648016503040201a203020120a303020102',
      'hex',
    );
    const refused = async (changes: object): Promise<unknown> =>
      (await csc('v1/signatures/signHash', { ...asked, ...changes })).body['error_description'];
    expect(await refused({ signAlgoParams: signAlgoParams.toString('base64') })).toBe('Invalid parameter signAlgoParams');
    expect(await refused({ hashAlgo: '1.3.14.3.2.26' })).toBe('Invalid parameter hashAlgo');
  });
});
