import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, contentDocument, textOf } from '../support/api.ts';

const client = 'other';
const oids = { sha256: '2.16.840.1.101.3.4.2.1', sha512: '2.16.840.1.101.3.4.2.3' } as const;
const texts = { a: 'the first', b: 'the second', c: 'the third' } as const;
type Id = keyof typeof texts;

const hashOf = (text: string, hash: keyof typeof oids): object => ({
  digestAlgOID: oids[hash],
  digestValue: createHash(hash).update(text).digest('base64'),
});
const entry = (id: Id, hash: keyof typeof oids = 'sha256', text: string = texts[id]): object => ({ id, ...hashOf(text, hash) });
const content = (id: string, text: string): object => contentDocument(text, id);
const digestDocument = (id: Id, hash: keyof typeof oids = 'sha256', text: string = texts[id]): object => ({
  ID: id,
  digest: hashOf(text, hash),
});

const raw = { rawSignature: {} };
const cades = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };

async function boundKey(protocol: string, digest?: readonly object[]): Promise<Record<string, string>> {
  const { body } = await call(client, 'pki/createCertificate', {
    ...certificateRequest({ signatureActivationProtocol: protocol }),
    ...(digest === undefined ? {} : { signerData: { digest } }),
  });
  return body['keyReference'] as unknown as Record<string, string>;
}

const sign = async (keyReference: object, parameters: object, inputDocuments: readonly object[]): Promise<string> =>
  codeOf(await call(client, 'signature/sign', { keyReference, parameters, inputDocuments }));

async function otp(key: Record<string, string>, digest: readonly object[]): Promise<{ code: string; keyReference: object }> {
  const answer = await call(client, 'pki/sendOTP', { action: 'SIGN', keyReference: key['reference'], signerData: { digest } });
  return { code: codeOf(answer), keyReference: { reference: key['reference'], password: textOf(answer.body['password']) } };
}

describe('a key bound to digests', () => {
  it.each([
    ['0/0', 'one of its documents', raw, [content('a', texts.a)]],
    ['0/0', 'all of them', raw, [content('b', texts.b), content('a', texts.a)]],
    ['0/0', 'one by its digest', raw, [digestDocument('a')]],
    ['0/0', 'all of them in CMS', cades, [content('a', texts.a), content('b', texts.b)]],
    ['0/0', 'one that is listed by another hash', raw, [content('c', texts.c)]],
    ['0/0', 'one by its digest of that hash', raw, [digestDocument('c', 'sha512')]],
    ['2/205', 'one by a digest that is not the listed one', raw, [digestDocument('a', 'sha256', texts.b)]],
    ['2/205', 'one by a digest of another hash than the listed one', raw, [digestDocument('a', 'sha512')]],
    ['2/205', 'another content under a listed ID', raw, [content('a', 'forged')]],
    ['2/205', 'another content under a listed ID in CMS', cades, [content('a', 'forged')]],
    ['2/205', 'a listed content under the ID of another', raw, [content('b', texts.a)]],
    ['2/205', 'a listed content under an ID that is not listed', cades, [content('d', texts.a)]],
    ['2/205', 'one too many', raw, [content('a', texts.a), content('d', 'x')]],
    ['2/205', 'one too many in CMS', cades, [content('a', texts.a), content('b', 'x')]],
  ] as const)('answers %s for %s', async (code, _name, parameters, documents) => {
    const key = await boundKey('PASSWORD', [entry('a'), entry('b'), entry('c', 'sha512')]);
    expect(await sign(key, parameters, documents)).toBe(code);
    // The password was right: it counts as no failure.
    const { body } = await call(client, 'pki/checkKey', { keyReference: { reference: key['reference'] } });
    expect([body['boundDigests'], body['remainingAttempts']]).toEqual([['a', 'b', 'c'], 5]);
  });

  it('tells a wrong secret before a document that is not covered', async () => {
    const key = await boundKey('PASSWORD', [entry('a')]);
    expect(await sign({ ...key, password: 'wrong' }, raw, [content('d', 'x')])).toBe('2/202');
  });

  it('gives OTPs for its own documents alone', async () => {
    const key = await boundKey('OTP', [entry('a'), entry('b')]);
    expect((await otp(key, [entry('c')])).code).toBe('2/205');
    expect((await otp(key, [entry('a'), entry('b', 'sha256', 'forged')])).code).toBe('2/205');
    expect((await otp(key, [entry('a')])).code).toBe('0/0');
  });
});

describe('an OTP bound to fewer documents than its key', () => {
  it.each(['PASSWORD', 'OTP'])('signs those alone, on a key of %s', async (protocol) => {
    const key = await boundKey(protocol, [entry('a'), entry('b')]);
    for (const [code, parameters, documents] of [
      ['0/0', raw, [content('a', texts.a)]],
      ['0/0', cades, [content('a', texts.a)]],
      ['2/205', raw, [content('b', texts.b)]],
      ['2/205', cades, [content('a', texts.a), content('b', texts.b)]],
    ] as const) {
      expect(await sign((await otp(key, [entry('a')])).keyReference, parameters, documents)).toBe(code);
    }
    if (protocol === 'PASSWORD') {
      await otp(key, [entry('a')]);
      expect(await sign(key, raw, [content('b', texts.b)])).toBe('0/0');
    }
  });
});

describe('a list of digests', () => {
  const many = (length: number): object[] => Array.from({ length }, (_, index) => ({ id: `d${index}`, ...hashOf('x', 'sha256') }));

  it.each([
    ['0/0', 'of as many as a request has documents', many(100)],
    ['1/102', 'of more than a request has documents', many(101)],
    ['1/102', 'of far more', many(1500)],
    ['1/102', 'with an id of 256 characters', [{ ...entry('a'), id: 'x'.repeat(256) }]],
    ['0/0', 'with an id of 255 characters', [{ ...entry('a'), id: 'x'.repeat(255) }]],
    ['1/103', 'with two digests of one document by one hash', [entry('a'), entry('b'), entry('a', 'sha256', 'another')]],
    ['0/0', 'with two digests of one document by two hashes', [entry('a'), entry('a', 'sha512')]],
  ] as const)('answers %s %s, for a key and for an OTP', async (code, _name, digest) => {
    const made = await call(client, 'pki/createCertificate', {
      ...certificateRequest({ signatureActivationProtocol: 'OTP' }),
      signerData: { digest },
    });
    expect(codeOf(made)).toBe(code);
    expect((await otp(await boundKey('OTP'), digest)).code).toBe(code);
  });
});
