import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  type TestKey,
} from '../support/api.ts';
import { queryState } from '../support/quickstart-state.ts';

const digestOf = (text: string): object => ({
  id: 'd',
  digestAlgOID: '2.16.840.1.101.3.4.2.1',
  digestValue: createHash('sha256').update(text).digest('base64'),
});

const sign = async (client: ClientName, keyReference: object, text = 'x'): Promise<ApiAnswer> =>
  call(client, 'signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument(text)] });
const sendOtp = async (client: ClientName, keyReference: string, text = 'x', action = 'SIGN'): Promise<ApiAnswer> =>
  call(client, 'pki/sendOTP', { action, keyReference, signerData: { digest: [digestOf(text)] } });

interface Recorded {
  readonly request?: string;
  readonly key?: string;
  readonly major?: number;
  readonly minor?: number;
  readonly tampered?: string;
}

/** What the audit log has of a request. */
function recordOf({ headers }: ApiAnswer): Recorded | undefined {
  const audit = join(directory, 'audit');
  return readdirSync(audit)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(audit, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as Recorded)
    .find(({ request }) => request === headers['x-request-id']);
}

/** Refused like a wrong secret, and recorded as what it is. */
function expectTampered(answer: ApiAnswer, key: string): void {
  expect([codeOf(answer), messageOf(answer)]).toEqual(['2/202', 'activation failed']);
  expect(recordOf(answer)).toMatchObject({ key, major: 2, minor: 202, tampered: expect.any(String) as string });
}

async function bound(protocol: string): Promise<Record<string, string>> {
  const { body } = await call('other', 'pki/createCertificate', {
    ...certificateRequest({ signatureActivationProtocol: protocol, transactionId: 'T-1' }),
    signerData: { digest: [digestOf('x')] },
  });
  return body['keyReference'] as unknown as Record<string, string>;
}

describe('a row that was changed in the state store', () => {
  it.each(['PASSWORD', 'OTP'])('gives no other tenant a key of %s, and no other document a signature', async (protocol) => {
    const { reference = '' } = await bound(protocol);
    queryState(
      `update keys set tenant = 'demo', transaction_salt = null, transaction_mac = null, bound_digests = null where reference = ?`,
      reference,
    );
    queryState(`update certificates set tenant = 'demo' where sha1 = ?`, reference);
    const sent = await sendOtp('app', reference, 'another document');
    expectTampered(sent, reference);
    expectTampered(await sign('app', { reference, password: textOf(sent.body['password']) }, 'another document'), reference);
  });

  const uses: Record<string, (client: ClientName, key: TestKey) => Promise<ApiAnswer>> = {
    sign: async (client, key) => sign(client, secretOf(key)),
    'sendOTP for SIGN': async (client, key) => sendOtp(client, key.reference),
    'sendOTP for REVOKE': async (client, key) => sendOtp(client, key.reference, 'x', 'REVOKE'),
    checkKey: async (client, { reference }) => call(client, 'pki/checkKey', { keyReference: { reference } }),
    'checkKey with the secret': async (client, key) => call(client, 'pki/checkKey', { keyReference: secretOf(key) }),
    changePassword: async (client, key) =>
      call(client, 'pki/changePassword', { keyReference: secretOf(key), password: 'another password' }),
    removeKey: async (client, key) => call(client, 'pki/removeKey', { keyReference: secretOf(key) }),
    'revokeCertificate with the secret': async (client, { certificate, password }) =>
      call(client, 'pki/revokeCertificate', { certificate: certificate.toString('base64'), password }),
    sendMessage: async (client, { reference }) => call(client, 'pki/sendMessage', { message: 'hello', keyReferenceId: reference }),
  };

  it('is refused by every operation, and nothing is done', async () => {
    const key = await newKey('other');
    queryState("update keys set subscriber_phone = '+33700000000' where reference = ?", key.reference);
    for (const [name, use] of Object.entries(uses)) {
      const answer = await use('other', key);
      expect([name, codeOf(answer)]).toEqual([name, '2/202']);
      expectTampered(answer, key.reference);
    }
    const [row] = queryState('select state, failures_since_success from keys where reference = ?', key.reference);
    expect(row).toEqual({ state: 'ACTIVE', failures_since_success: 0 });
    expect(queryState('select * from otps where reference = ?', key.reference)).toEqual([]);
  });

  it('does not keep the certificate good: the role puts it on hold and revokes it, but does not release it', async () => {
    const key = await newKey('other');
    queryState("update keys set subscriber_phone = '+33700000000' where reference = ?", key.reference);
    const certificate = key.certificate.toString('base64');
    for (const [reason, code] of [
      ['CERTIFICATE_HOLD', '0/0'],
      ['REMOVE_FROM_CRL', '2/202'],
      ['KEY_COMPROMISE', '0/0'],
    ]) {
      const answer = await call('other', 'pki/revokeCertificate', { certificate, reason });
      expect([reason, codeOf(answer)]).toEqual([reason, code]);
      expect(recordOf(answer)?.tampered).toBeDefined();
    }
    expect(queryState('select state from keys where reference = ?', key.reference)).toEqual([{ state: 'REVOKED' }]);
  });

  it('is a one-time password for documents that its owner did not see: it signs nothing', async () => {
    const { body } = await call('other', 'pki/createCertificate', certificateRequest({ signatureActivationProtocol: 'OTP' }));
    const reference = textOf(body['keyReference']?.['reference']);
    const password = textOf((await sendOtp('other', reference)).body['password']);
    queryState('update otps set bound_digests = null where reference = ?', reference);
    const answer = await sign('other', { reference, password }, 'another document');
    expectTampered(answer, reference);
    expect(recordOf(answer)?.tampered).toContain('one-time password');
  });

  it('is not what a wrong secret is recorded as', async () => {
    const key = await newKey('other');
    const answer = await sign('other', { reference: key.reference, password: 'wrong' });
    expect(codeOf(answer)).toBe('2/202');
    expect(recordOf(answer)).toMatchObject({ key: key.reference, minor: 202 });
    expect(recordOf(answer)).not.toHaveProperty('tampered');
  });

  it('does not count against the owner, and does no harm once it is right again', async () => {
    const key = await newKey('other');
    queryState(`update keys set created_at = created_at + 1 where reference = ?`, key.reference);
    for (let attempt = 0; attempt < 6; attempt += 1) expectTampered(await sign('other', secretOf(key)), key.reference);
    queryState(`update keys set created_at = created_at - 1 where reference = ?`, key.reference);
    const { body } = await call('other', 'pki/checkKey', { keyReference: secretOf(key) });
    expect([body['state'], body['remainingAttempts'], body['secretVerified']]).toEqual(['ACTIVE', 5, true]);
    expect(codeOf(await sign('other', secretOf(key)))).toBe('0/0');
  });
});
