import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  call,
  certificateRequest,
  codeOf,
  contentDocument,
  newKey,
  pathOf,
  secretOf,
  send,
  textOf,
  type ApiAnswer,
} from '../support/api.ts';

const create = 'pki/createCertificate';
const sign = 'signature/sign';
const keyed = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });
const signRequest = (keyReference: object, text = 'document', more: object = {}): object => ({
  keyReference,
  parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } },
  inputDocuments: [contentDocument(text)],
  ...more,
});
const remaining = async (reference: string): Promise<string> => {
  return textOf((await call('app', 'pki/checkKey', { keyReference: { reference } })).body['remainingAttempts']);
};

/** Twice the same, with a key of its own. */
async function twice(operation: string, body: unknown): Promise<[ApiAnswer, ApiAnswer]> {
  const headers = keyed(randomUUID());
  return [await call('app', operation, body, headers), await call('app', operation, body, headers)];
}

describe('a request that is repeated with its Idempotency-Key', () => {
  it('creates one key, and returns its password again, byte for byte', async () => {
    const [first, second] = await twice(create, certificateRequest());
    expect([codeOf(first), second.text]).toEqual(['0/0', first.text]);
    const keyReference = {
      reference: textOf(first.body['keyReference']?.['reference']),
      password: textOf(first.body['keyReference']?.['password']),
    };
    expect(codeOf(await call('app', sign, signRequest(keyReference)))).toBe('0/0');
  });

  it('makes one signature', async () => {
    const key = await newKey('app');
    const [first, second] = await twice(sign, signRequest(secretOf(key), 'document', { requestID: 'order 4711' }));
    expect([codeOf(first), first.body['requestID'], second.text]).toEqual(['0/0', 'order 4711', first.text]);
  });

  it('is the same request whatever the order and spacing of its members', async () => {
    const headers = { 'Content-Type': 'application/json', ...keyed(randomUUID()) };
    const body = certificateRequest();
    const first = await send('app', { path: pathOf(create), headers }, JSON.stringify(body));
    const turned = JSON.stringify(Object.fromEntries(Object.entries(body).toReversed()), undefined, 2);
    expect((await send('app', { path: pathOf(create), headers }, turned)).text).toBe(first.text);
  });

  it('ends once for 50 at once', async () => {
    const headers = keyed(randomUUID());
    const answers = await Promise.all(Array.from({ length: 50 }, async () => call('app', create, certificateRequest(), headers)));
    expect(new Set(answers.map((answer) => codeOf(answer)))).toEqual(new Set(['0/0']));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('is 422 with another body, also while the first is on its way, and the first answer stays', async () => {
    const headers = keyed(randomUUID());
    const other = { ...certificateRequest(), requestID: 'another' };
    const [first, second] = await Promise.all([call('app', create, certificateRequest(), headers), call('app', create, other, headers)]);
    expect(new Set([first.status, second.status])).toEqual(new Set([200, 422]));
    const [kept, refused] = first.status === 200 ? [certificateRequest(), other] : [other, certificateRequest()];
    const answer = await call('app', create, refused, headers);
    expect([answer.status, answer.headers['content-type'], textOf(answer.body['detail'])]).toEqual([
      422,
      'application/problem+json',
      expect.stringContaining('another body'),
    ]);
    expect((await call('app', create, kept, headers)).text).toBe(first.status === 200 ? first.text : second.text);
  });

  it('is another request for another client, and for another operation', async () => {
    const headers = keyed(randomUUID());
    const mine = await call('app', create, certificateRequest(), headers);
    const theirs = await call('other', create, certificateRequest(), headers);
    expect([codeOf(theirs), theirs.text === mine.text]).toEqual(['0/0', false]);
    expect(codeOf(await call('app', sign, signRequest(secretOf(await newKey('app'))), headers))).toBe('0/0');
  });

  it.each([
    ['1/101', {}],
    ['1/102', { ...certificateRequest(), certificateFormat: 'NONE' }],
    ['1/103', certificateRequest({ PKCS10: undefined })],
    ['1/102', certificateRequest({ PKCS10: undefined, JWT: { token: 'x' } })],
  ])('is answered %s again, and 422 when the fault is mended', async (code, body) => {
    const headers = keyed(randomUUID());
    const [first, second] = [await call('app', create, body, headers), await call('app', create, body, headers)];
    expect([codeOf(first), second.text]).toEqual([code, first.text]);
    expect((await call('app', create, certificateRequest(), headers)).status).toBe(422);
  });

  it('counts a wrong password once', async () => {
    const { reference } = await newKey('app');
    const [first, second] = await twice(sign, signRequest({ reference, password: 'a wrong one' }));
    expect([codeOf(first), second.text, await remaining(reference)]).toEqual(['2/202', first.text, '4']);
  });

  it('counts a wrong password once for 50 at once', async () => {
    const { reference } = await newKey('app');
    const headers = keyed(randomUUID());
    const body = signRequest({ reference, password: 'a wrong one' });
    const answers = await Promise.all(Array.from({ length: 50 }, async () => call('app', sign, body, headers)));
    expect([new Set(answers.map((answer) => codeOf(answer))), await remaining(reference)]).toEqual([new Set(['2/202']), '4']);
  });

  it('answers 2/204 again', async () => {
    const key = await newKey('app');
    await call('app', 'pki/removeKey', { keyReference: secretOf(key) });
    const [first, second] = await twice(sign, signRequest(secretOf(key)));
    expect([codeOf(first), second.text]).toEqual(['2/204', first.text]);
  });

  it('answers its success again when the key is removed meanwhile', async () => {
    const key = await newKey('app');
    const headers = keyed(randomUUID());
    const first = await call('app', sign, signRequest(secretOf(key)), headers);
    await call('app', 'pki/removeKey', { keyReference: secretOf(key) });
    expect((await call('app', sign, signRequest(secretOf(key)), headers)).text).toBe(first.text);
    expect(codeOf(await call('app', sign, signRequest(secretOf(key)), keyed(randomUUID())))).toBe('2/204');
  });

  it('is carried out again after 2/201, 2/203 and 2/213, which may change', async () => {
    const unknown = signRequest({ reference: '0'.repeat(40), password: 'x' });
    const headers = keyed(randomUUID());
    expect(codeOf(await call('app', sign, unknown, headers))).toBe('2/201');
    const key = await newKey('app');
    // With nothing kept, another body is no other request.
    expect(codeOf(await call('app', sign, signRequest(secretOf(key)), headers))).toBe('0/0');

    const locked = await newKey('app');
    for (let attempt = 0; attempt < 5; attempt += 1)
      await call('app', sign, signRequest({ reference: locked.reference, password: 'wrong' }));
    const others = keyed(randomUUID());
    expect(codeOf(await call('app', sign, signRequest(secretOf(locked)), others))).toBe('2/203');
    expect(codeOf(await call('app', sign, signRequest(secretOf(key)), others))).toBe('0/0');
  });

  it('is carried out again after an HTTP problem', async () => {
    const headers = keyed(randomUUID());
    expect((await call('app', create, '{"a":1,"a":2}', headers)).status).toBe(400);
    expect((await call('signer', create, certificateRequest(), headers)).status).toBe(403);
    expect(codeOf(await call('app', create, certificateRequest(), headers))).toBe('0/0');
  });
});

describe('the header Idempotency-Key', () => {
  it.each([
    ['7 characters', 'a'.repeat(7), 400],
    ['8 characters', `${randomUUID().slice(0, 7)}~`, 200],
    ['128 characters', randomUUID().padEnd(128, '!'), 200],
    ['129 characters', 'a'.repeat(129), 400],
    ['a space', 'aaaa aaaa', 400],
    ['a letter beyond ASCII', 'aaaaaaaaé', 400],
    ['nothing', '', 400],
  ])('%s', async (_name, key, status) => {
    expect((await call('app', create, {}, keyed(key))).status).toBe(status);
  });

  it('is 400 when it is given twice', async () => {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': ['aaaaaaaa', 'bbbbbbbb'] };
    expect((await send('app', { path: pathOf(create), headers }, '{}')).status).toBe(400);
  });

  it('is ignored by operations that do not support it', async () => {
    const key = await newKey('app');
    for (const _ of [1, 2]) expect(codeOf(await call('app', 'pki/checkKey', { keyReference: secretOf(key) }, keyed('short')))).toBe('0/0');
  });
});
