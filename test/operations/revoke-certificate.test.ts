import { describe, expect, it } from 'vitest';
import {
  call,
  certificateRequest,
  codeOf,
  contentDocument,
  messageOf,
  newKey,
  secretOf,
  textOf,
  type ApiAnswer,
  type ClientName,
  type TestKey,
} from '../support/api.ts';

const revoke = async (key: TestKey, more: object = {}, client: ClientName = 'other'): Promise<ApiAnswer> =>
  call(client, 'pki/revokeCertificate', { certificate: key.certificate.toString('base64'), ...more });
const sign = async (key: TestKey): Promise<string> =>
  codeOf(
    await call('other', 'signature/sign', {
      keyReference: secretOf(key),
      parameters: { rawSignature: {} },
      inputDocuments: [contentDocument('d')],
    }),
  );
const stateOf = async (key: TestKey): Promise<string> =>
  textOf((await call('other', 'pki/checkKey', { keyReference: { reference: key.reference } })).body['state']);

describe('revokeCertificate', () => {
  it('answers the date, and the key stops at once', async () => {
    const key = await newKey('other');
    expect(await sign(key)).toBe('0/0');
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { body } = await revoke(key, { requestID: 'r' });
    expect(body).toEqual({
      result: { majorCode: 0, minorCode: 0, message: 'success' },
      requestID: 'r',
      date: expect.any(Number) as number,
    });
    expect(Number(textOf(body['date']))).toBeGreaterThanOrEqual(before);
    expect(Number(textOf(body['date'])) % 1000).toBe(0);
    expect(await sign(key)).toBe('2/204');
    expect(await stateOf(key)).toBe('REVOKED');
    const again = await revoke(key);
    expect([codeOf(again), messageOf(again)]).toEqual(['2/212', 'the certificate is already revoked']);
  });

  it.each([
    'UNSPECIFIED',
    'KEY_COMPROMISE',
    'CA_COMPROMISE',
    'AFFILIATION_CHANGED',
    'SUPERSEDED',
    'CESSATION_OF_OPERATION',
    'UNUSED',
    'PRIVILEGE_WITHDRAWN',
    'A_A_COMPROMISE',
  ])('takes the reason %s', async (reason) => {
    const key = await newKey('other');
    expect(codeOf(await revoke(key, { reason }))).toBe('0/0');
    expect(await stateOf(key)).toBe('REVOKED');
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL' }))).toBe('2/212');
  });

  it('holds, releases and holds again; the key works in between', async () => {
    const key = await newKey('other');
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL' }))).toBe('2/212');
    expect(codeOf(await revoke(key, { reason: 'CERTIFICATE_HOLD' }))).toBe('0/0');
    expect([await stateOf(key), await sign(key)]).toEqual(['ON_HOLD', '2/204']);
    expect(codeOf(await revoke(key, { reason: 'CERTIFICATE_HOLD' }))).toBe('2/212');
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL' }))).toBe('0/0');
    expect([await stateOf(key), await sign(key)]).toEqual(['ACTIVE', '0/0']);
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL' }))).toBe('2/212');
    const held = await revoke(key, { reason: 'CERTIFICATE_HOLD' });
    const revoked = await revoke(key, { reason: 'KEY_COMPROMISE' });
    // X.509 9.5.3.3: the date stays that of the hold.
    expect([codeOf(revoked), revoked.body['date']]).toEqual(['0/0', held.body['date']]);
    expect(await stateOf(key)).toBe('REVOKED');
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL' }))).toBe('2/212');
  });

  it('revokes the certificate of a removed key, which stays removed', async () => {
    const key = await newKey('other');
    expect(codeOf(await call('other', 'pki/removeKey', { keyReference: secretOf(key) }))).toBe('0/0');
    expect(codeOf(await revoke(key, { reason: 'CERTIFICATE_HOLD' }))).toBe('0/0');
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL' }))).toBe('0/0');
    expect(codeOf(await revoke(key))).toBe('0/0');
    expect(await stateOf(key)).toBe('REMOVED');
  });

  it('lets one of many at once revoke', async () => {
    const key = await newKey('other');
    const codes = (await Promise.all(Array.from({ length: 8 }, async () => revoke(key)))).map(codeOf);
    expect(codes.toSorted()).toEqual(['0/0', ...Array.from({ length: 7 }, () => '2/212')]);
  });

  it('checks a password that is sent, and counts a wrong one', async () => {
    const key = await newKey('other');
    expect(codeOf(await revoke(key, { password: 'wrong' }))).toBe('2/202');
    const checked = await call('other', 'pki/checkKey', { keyReference: { reference: key.reference } });
    expect(checked.body['remainingAttempts']).toBe(4);
    expect(await sign(key)).toBe('0/0');
    expect(codeOf(await revoke(key, { password: key.password }))).toBe('0/0');
  });

  it('takes a one-time password for REVOKE, and the secret of a key that is removed or on hold', async () => {
    const key = await newKey('other');
    const otp = await call('other', 'pki/sendOTP', { keyReference: key.reference, action: 'REVOKE', signerData: { digest: [] } });
    expect(codeOf(await revoke(key, { reason: 'CERTIFICATE_HOLD', password: textOf(otp.body['password']) }))).toBe('0/0');
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL', password: 'wrong' }))).toBe('2/202');
    expect(codeOf(await revoke(key, { reason: 'REMOVE_FROM_CRL', password: key.password }))).toBe('0/0');
    await call('other', 'pki/removeKey', { keyReference: secretOf(key) });
    expect(codeOf(await revoke(key, { password: key.password }))).toBe('0/0');
  });

  it('wants the transaction of a key that is tied to one; a wrong one counts, and so does none', async () => {
    const { body } = await call('other', 'pki/createCertificate', certificateRequest({ transactionId: 'T-1' }));
    const certificate = textOf(body['certificate']);
    const attempt = async (more: object): Promise<string> => codeOf(await call('other', 'pki/revokeCertificate', { certificate, ...more }));
    expect(await attempt({})).toBe('2/202');
    expect(await attempt({ transactionId: 'T-2' })).toBe('2/202');
    const reference = textOf(body['keyReference']?.['reference']);
    const checked = await call('other', 'pki/checkKey', { keyReference: { reference } });
    expect(checked.body['remainingAttempts']).toBe(3);
    expect(await attempt({ transactionId: 'T-1' })).toBe('0/0');
    const untied = await newKey('other');
    expect(codeOf(await revoke(untied, { transactionId: 'T-1' }))).toBe('2/202');
  });

  it('says of a locked key that it is locked, before it asks for what is lacking', async () => {
    const { body } = await call('other', 'pki/createCertificate', certificateRequest({ transactionId: 'T-1' }));
    const certificate = textOf(body['certificate']);
    const attempt = async (more: object): Promise<string> => codeOf(await call('other', 'pki/revokeCertificate', { certificate, ...more }));
    expect(await attempt({ authToken: 'x', transactionId: 'T-1' })).toBe('1/101');
    for (const wrong of [{}, { password: 'wrong', transactionId: 'T-1' }, { transactionId: 'T-2' }, {}, { transactionId: 'T-2' }]) {
      expect(await attempt(wrong)).toBe('2/202');
    }
    for (const lacking of [{ authToken: 'x', transactionId: 'T-1' }, {}, { password: textOf(body['keyReference']?.['password']) }]) {
      expect(await attempt(lacking)).toBe('2/203');
    }
  });

  it('does not know certificates of another tenant, of strangers, and changed ones', async () => {
    const key = await newKey('other');
    expect(codeOf(await revoke(key, {}, 'app'))).toBe('2/211');
    const changed = Buffer.from(key.certificate);
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    expect(codeOf(await revoke({ ...key, certificate: changed }))).toBe('2/211');
    expect(await stateOf(key)).toBe('ACTIVE');
  });

  it('takes PEM', async () => {
    const key = await newKey('other');
    const pem = `-----BEGIN CERTIFICATE-----\n${key.certificate.toString('base64')}\n-----END CERTIFICATE-----\n`;
    expect(codeOf(await revoke({ ...key, certificate: Buffer.from(pem) }))).toBe('0/0');
  });

  it.each([
    ['1/101', { certificate: undefined }],
    ['1/102', { certificate: 'xyz?' }],
    ['1/102', { certificate: 'AAAA' }],
    ['1/102', { reason: 'BORED' }],
    ['1/102', { password: '' }],
    ['1/102', { why: 'x' }],
    ['1/103', { password: 'a', authToken: 'b' }],
  ])('answers %s to %o', async (code, changes) => {
    const key = await newKey('other');
    expect(codeOf(await revoke(key, changes))).toBe(code);
  });

  it('needs the role revocation', async () => {
    const key = await newKey('app');
    expect(codeOf(await revoke(key, {}, 'signer'))).toBe('HTTP 403');
  });
});
