import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, contentDocument, messageOf, textOf, type ApiAnswer } from '../support/api.ts';
import { expireOtps } from '../support/quickstart-state.ts';

const client = 'other';
const protocols = ['PASSWORD', 'OTP', 'SINGLE_USE'] as const;
type Protocol = (typeof protocols)[number];
const operations = ['sign', 'removeKey', 'changePassword', 'checkKey'] as const;
type OperationName = (typeof operations)[number];
type Given = Record<string, string>;

const actionOf = { sign: 'SIGN', checkKey: 'SIGN', removeKey: 'REVOKE', changePassword: 'CHANGE_PASSWORD' } as const;
const digest = {
  id: 'd',
  digestAlgOID: '2.16.840.1.101.3.4.2.1',
  digestValue: createHash('sha256').update('x').digest('base64'),
};

interface Key {
  readonly reference: string;
  /** `{"password": …}` or `{"authToken": …}`; empty with the protocol OTP. */
  readonly own: Given;
}

async function newKey(signatureActivationProtocol: Protocol, more: object = {}): Promise<Key> {
  const { body } = await call(client, 'pki/createCertificate', certificateRequest({ signatureActivationProtocol, ...more }));
  const { reference, ...own } = body['keyReference'] as unknown as Record<string, string>;
  return { reference: reference ?? '', own };
}

async function otp({ reference }: Key, action: string): Promise<string> {
  const answer = await call(client, 'pki/sendOTP', { action, keyReference: reference, signerData: { digest: [digest] } });
  expect(codeOf(answer)).toBe('0/0');
  return textOf(answer.body['password']);
}

async function use(operation: OperationName, { reference }: Key, given: Given): Promise<ApiAnswer> {
  const keyReference = { reference, ...given };
  if (operation === 'sign') {
    return call(client, 'signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] });
  }
  return call(client, `pki/${operation}`, operation === 'changePassword' ? { keyReference, password: 'a new password' } : { keyReference });
}

/** What the caller is told; of checkKey, the secret's verdict instead of a code that is always 0. */
async function told(operation: OperationName, key: Key, given: Given): Promise<string> {
  const answer = await use(operation, key, given);
  const code = codeOf(answer);
  if (code === '2/202') expect(messageOf(answer)).toBe('activation failed');
  if (operation !== 'checkKey' || code !== '0/0') return code;
  const verdict: unknown = answer.body['secretVerified'];
  return typeof verdict === 'boolean' ? String(verdict) : 'not evaluated';
}

/** How each case gives a secret. */
const cases: Record<string, (key: Key, operation: OperationName, protocol: Protocol) => Promise<Given>> = {
  'the right secret': async (key) => Promise.resolve(key.own),
  'a wrong password': async () => Promise.resolve({ password: '00000000' }),
  'a wrong authToken': async () => Promise.resolve({ authToken: 'wrong' }),
  'no secret': async () => Promise.resolve({}),
  'a right OTP': async (key, operation) => ({ password: await otp(key, actionOf[operation]) }),
  'a used OTP': async (key, operation, protocol) => {
    const password = await otp(key, actionOf[operation]);
    // checkKey and what cannot be done twice use none up: a signature does, and so does a change of the password.
    const uses = operation === 'removeKey' || protocol === 'SINGLE_USE' ? undefined : operation === 'checkKey' ? 'sign' : operation;
    if (uses === undefined) return { password: '00000000' };
    expect(await told(uses, key, { password })).toBe('0/0');
    return { password };
  },
  'an expired OTP': async (key, operation) => {
    const password = await otp(key, actionOf[operation]);
    expireOtps(key.reference);
    return { password };
  },
  'a superseded OTP': async (key, operation) => {
    const password = await otp(key, actionOf[operation]);
    await otp(key, actionOf[operation]);
    return { password };
  },
  "another key's OTP": async (_key, operation) => ({ password: await otp(await newKey('PASSWORD'), actionOf[operation]) }),
  'an OTP for another action': async (key, operation) => ({ password: await otp(key, operation === 'removeKey' ? 'SIGN' : 'REVOKE') }),
  "another key's secret": async (_key, _operation, protocol) => (await newKey(protocol)).own,
};

const otpCases = Object.keys(cases).filter((name) => name.includes('OTP'));

/** The table: every protocol and operation, every way to be right or wrong. */
function expected(protocol: Protocol, operation: OperationName, name: string): string | undefined {
  const isCheck = operation === 'checkKey';
  const right = isCheck ? 'true' : '0/0';
  const wrong = isCheck ? 'false' : '2/202';
  const missing = isCheck ? 'not evaluated' : '1/101';
  if (operation === 'changePassword' && protocol !== 'PASSWORD') return otpCases.includes(name) ? undefined : '1/104';
  const takesPassword = protocol !== 'SINGLE_USE' || operation === 'removeKey';
  switch (name) {
    case 'the right secret':
      return protocol === 'OTP' ? missing : right;
    case 'no secret':
      return missing;
    case 'a wrong authToken':
      return protocol === 'SINGLE_USE' ? wrong : missing;
    case "another key's secret":
      return protocol === 'OTP' ? missing : wrong;
    case 'a wrong password':
      return takesPassword ? wrong : missing;
    case 'an OTP for another action':
    case "another key's OTP":
      return takesPassword && !(protocol === 'SINGLE_USE' && name === 'an OTP for another action')
        ? wrong
        : takesPassword
          ? undefined
          : missing;
    case 'a right OTP':
      return takesPassword ? right : undefined;
    default:
      return takesPassword ? wrong : undefined;
  }
}

describe.each(protocols)('a key of %s', (protocol) => {
  for (const operation of operations) {
    for (const [name, give] of Object.entries(cases)) {
      const answer = expected(protocol, operation, name);
      // sendOTP makes none of these: see below.
      if (answer === undefined) continue;
      it(`answers ${operation} with ${name}: ${answer}`, async () => {
        const key = await newKey(protocol);
        const given = await give(key, operation, protocol);
        expect(await told(operation, key, given)).toBe(answer);
        // What is wrong counts, whatever was wrong with it; what is missing does not, and an authToken, which nobody guesses.
        const { body } = await use('checkKey', key, {});
        const counted = (answer === '2/202' || answer === 'false') && given['authToken'] === undefined;
        expect(body['remainingAttempts']).toBe(counted ? 4 : 5);
      });
    }
  }

  it('that is bound to a transaction requires it each time, and all failures look the same', async () => {
    const key = await newKey(protocol, { transactionId: 'T-1' });
    expect(key.own['transactionId']).toBe('T-1');
    const { transactionId: _transactionId, ...secret } = protocol === 'OTP' ? { password: await otp(key, 'SIGN') } : key.own;
    expect(await told('sign', key, { ...secret, transactionId: 'T-2' })).toBe('2/202');
    expect(await told('sign', key, secret)).toBe('2/202');
    const { body } = await use('checkKey', key, { ...secret, transactionId: 'T-1' });
    expect([body['secretVerified'], body['keyReference']]).toEqual([true, { reference: key.reference, transactionId: 'T-1' }]);
    expect(await told('sign', key, { ...secret, transactionId: 'T-1' })).toBe('0/0');
    expect(await told('checkKey', await newKey(protocol), { ...secret, transactionId: 'T-1' })).toBe('false');
  });
});

describe('sendOTP', () => {
  const send = async (keyReference: string, action: string, list: object[] = [digest]): Promise<ApiAnswer> =>
    call(client, 'pki/sendOTP', { action, keyReference, signerData: { digest: list }, requestID: 'r' });

  it('answers eight digits', async () => {
    const { body } = await send((await newKey('OTP')).reference, 'SIGN');
    expect(body).toEqual({
      result: { majorCode: 0, minorCode: 0, message: 'success' },
      requestID: 'r',
      password: expect.stringMatching(/^\d{8}$/) as string,
    });
  });

  it.each([
    ['1/104', 'OTP', 'CHANGE_PASSWORD'],
    ['1/104', 'SINGLE_USE', 'CHANGE_PASSWORD'],
    ['1/104', 'SINGLE_USE', 'SIGN'],
    ['0/0', 'SINGLE_USE', 'REVOKE'],
    ['1/102', 'OTP', 'DANCE'],
  ] as const)('answers %s for a key of %s and %s', async (code, protocol, action) => {
    expect(codeOf(await send((await newKey(protocol)).reference, action))).toBe(code);
  });

  it('requires a list of digests: with at least one for SIGN, with any content for the other actions', async () => {
    const { reference } = await newKey('PASSWORD');
    expect(codeOf(await call(client, 'pki/sendOTP', { action: 'REVOKE', keyReference: reference }))).toBe('1/101');
    expect(codeOf(await call(client, 'pki/sendOTP', { action: 'REVOKE', keyReference: reference, signerData: {} }))).toBe('1/101');
    const codes = await Promise.all(['SIGN', 'CHANGE_PASSWORD', 'REVOKE'].map(async (action) => codeOf(await send(reference, action, []))));
    expect(codes).toEqual(['1/102', '0/0', '0/0']);
    expect(codeOf(await send(reference, 'SIGN', [{ ...digest, digestAlgOID: '1.2.3' }]))).toBe('1/104');
    expect(codeOf(await send(reference, 'SIGN', [{ ...digest, digestValue: 'AAAA' }]))).toBe('1/103');
    expect(codeOf(await send(reference, 'REVOKE', [{ ...digest, digestAlgOID: '1.2.3' }]))).toBe('0/0');
  });

  it('answers 2/201 for a key of another tenant, 2/204 for one that has ended, 2/203 for a locked one', async () => {
    const key = await newKey('PASSWORD');
    expect(
      codeOf(await call('app', 'pki/sendOTP', { action: 'SIGN', keyReference: key.reference, signerData: { digest: [digest] } })),
    ).toBe('2/201');
    expect(codeOf(await use('removeKey', key, key.own))).toBe('0/0');
    expect(codeOf(await send(key.reference, 'SIGN'))).toBe('2/204');
    const locked = await newKey('PASSWORD');
    for (let attempt = 0; attempt < 5; attempt += 1) await use('sign', locked, { password: 'wrong' });
    expect(codeOf(await send(locked.reference, 'SIGN'))).toBe('2/203');
  });

  it('gives an OTP three attempts, of checkKey too', async () => {
    const key = await newKey('OTP');
    const password = await otp(key, 'SIGN');
    for (let attempt = 0; attempt < 2; attempt += 1) expect(await told('checkKey', key, { password: 'wrong' })).toBe('false');
    expect(await told('checkKey', key, { password })).toBe('true');
    expect(await told('checkKey', key, { password })).toBe('true');
    for (let attempt = 0; attempt < 3; attempt += 1) expect(await told('checkKey', key, { password: 'wrong' })).toBe('false');
    expect(await told('sign', key, { password })).toBe('2/202');
  });
});

describe('changePassword', () => {
  const change = async (key: Key, given: Given, password: string): Promise<string> =>
    codeOf(await call(client, 'pki/changePassword', { keyReference: { reference: key.reference, ...given }, password }));

  it('replaces the password: the new one works at once, the old one no more', async () => {
    const key = await newKey('PASSWORD');
    expect(await told('sign', key, key.own)).toBe('0/0');
    expect(await change(key, key.own, 'correct horse é')).toBe('0/0');
    expect(await told('sign', key, key.own)).toBe('2/202');
    // The same characters in another normal form.
    expect(await told('sign', key, { password: 'correct horse é'.normalize('NFD') })).toBe('0/0');
    expect(await told('sign', key, { password: 'correct horse é' })).toBe('0/0');
    expect(await change(key, { password: 'correct horse é' }, 'battery staple')).toBe('0/0');
    expect(await told('sign', key, { password: 'correct horse é' })).toBe('2/202');
    expect(await told('sign', key, { password: 'battery staple' })).toBe('0/0');
  });

  it('wants 8 to 128 characters that are not the old ones, also with an OTP', async () => {
    const key = await newKey('PASSWORD');
    expect([await change(key, key.own, 'seven 7'), await change(key, key.own, 'x'.repeat(129))]).toEqual(['1/102', '1/102']);
    // Brought into order, these marks would take a minute, for which nobody else would be answered.
    expect(await change(key, key.own, `a${'\u0345'.repeat(200_000)}${'\u0334'.repeat(200_000)}`)).toBe('1/102');
    expect(await change(key, key.own, key.own['password'] ?? '')).toBe('1/103');
    expect(await change(key, { password: await otp(key, 'CHANGE_PASSWORD') }, key.own['password'] ?? '')).toBe('1/103');
    expect(await change(key, key.own, '👍'.repeat(8))).toBe('0/0');
    expect(await change(key, { password: await otp(key, 'CHANGE_PASSWORD') }, '👍'.repeat(8))).toBe('1/103');
    expect(await change(key, { password: '👍'.repeat(8) }, '👍'.repeat(128))).toBe('0/0');
  });

  it('sent ten times at once with one password succeeds once', async () => {
    const key = await newKey('PASSWORD');
    const codes = await Promise.all(Array.from({ length: 10 }, async (_, index) => change(key, key.own, `changed at last ${index}`)));
    expect(codes.filter((code) => code === '0/0')).toHaveLength(1);
  });
});
