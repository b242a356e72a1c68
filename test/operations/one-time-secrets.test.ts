import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, contentDocument, directory, textOf } from '../support/api.ts';
import { keyIdOf, queryState } from '../support/quickstart-state.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const client = 'other';
const parallel = 50;
const digest = {
  id: 'd',
  digestAlgOID: '2.16.840.1.101.3.4.2.1',
  digestValue: createHash('sha256').update('x').digest('base64'),
};

async function newKey(signatureActivationProtocol: string): Promise<Record<string, string>> {
  const { body } = await call(client, 'pki/createCertificate', certificateRequest({ signatureActivationProtocol }));
  return body['keyReference'] as unknown as Record<string, string>;
}

const sign = async (keyReference: object): Promise<string> =>
  codeOf(await call(client, 'signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] }));
const stateOf = async (reference: string | undefined): Promise<string> =>
  textOf((await call(client, 'pki/checkKey', { keyReference: { reference } })).body['state']);
const atOnce = async (keyReference: object): Promise<string[]> =>
  Promise.all(Array.from({ length: parallel }, async () => sign(keyReference)));

describe('a secret of one use', () => {
  it(`that ${parallel} signatures come with at once makes one: the authToken`, async () => {
    const { reference = '', ...own } = await newKey('SINGLE_USE');
    const id = keyIdOf(reference);
    expect(privateKeysOnToken(directory)).toContain(id);
    const codes = await atOnce({ reference, ...own });
    expect(codes.filter((code) => code === '0/0')).toHaveLength(1);
    expect(codes.filter((code) => code === '2/204')).toHaveLength(parallel - 1);
    expect(privateKeysOnToken(directory)).not.toContain(id);
    expect(await stateOf(reference)).toBe('CONSUMED');
    expect(queryState('select key_id from key_journal where key_id = ?', id)).toEqual([]);
  });

  it(`that ${parallel} signatures come with at once makes one: the OTP`, async () => {
    const { reference = '' } = await newKey('OTP');
    const answer = await call(client, 'pki/sendOTP', { action: 'SIGN', keyReference: reference, signerData: { digest: [digest] } });
    const codes = await atOnce({ reference, password: textOf(answer.body['password']) });
    expect(codes.filter((code) => code === '0/0')).toHaveLength(1);
    // What comes after it is a wrong secret, five times, and then a locked key.
    expect(codes.filter((code) => code === '2/202')).toHaveLength(5);
    expect(codes.filter((code) => code === '2/203')).toHaveLength(parallel - 6);
    expect(queryState('select * from otps where reference = ?', reference)).toEqual([]);
  });

  it(`guessed ${parallel} times at once: an OTP is compared three times, its key five`, async () => {
    const { reference = '' } = await newKey('OTP');
    await call(client, 'pki/sendOTP', { action: 'SIGN', keyReference: reference, signerData: { digest: [digest] } });
    const codes = await atOnce({ reference, password: 'wrong' });
    expect([codes.filter((code) => code === '2/202').length, codes.filter((code) => code === '2/203').length]).toEqual([5, parallel - 5]);
    expect(queryState('select * from otps where reference = ?', reference)).toEqual([]);
  });

  it('gives its one signature again to a repetition with the same Idempotency-Key', async () => {
    const keyReference = await newKey('SINGLE_USE');
    const body = { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] };
    const headers = { 'Idempotency-Key': randomUUID() };
    const [first, second] = [await call(client, 'signature/sign', body, headers), await call(client, 'signature/sign', body, headers)];
    expect([codeOf(first), second.text]).toEqual(['0/0', first.text]);
    expect(codeOf(await call(client, 'signature/sign', body, { 'Idempotency-Key': randomUUID() }))).toBe('2/204');
  });

  it('that is right, with a document that it does not cover: the OTP is used up, the single-use key is not consumed', async () => {
    const created = await call(client, 'pki/createCertificate', {
      ...certificateRequest({ signatureActivationProtocol: 'SINGLE_USE' }),
      signerData: { digest: [{ ...digest, id: 'another' }] },
    });
    const { reference = '', ...own } = created.body['keyReference'] as unknown as Record<string, string>;
    expect(await sign({ reference, ...own })).toBe('2/205');
    expect(await stateOf(reference)).toBe('ACTIVE');
    expect(privateKeysOnToken(directory)).toContain(keyIdOf(reference));

    const key = await newKey('OTP');
    const answer = await call(client, 'pki/sendOTP', {
      action: 'SIGN',
      keyReference: key['reference'],
      signerData: { digest: [{ ...digest, id: 'another' }] },
    });
    const keyReference = { ...key, password: textOf(answer.body['password']) };
    expect([await sign(keyReference), await sign(keyReference)]).toEqual(['2/205', '2/202']);
  });
});
