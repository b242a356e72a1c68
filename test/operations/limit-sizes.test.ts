import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LongText } from '../../src/documents/long-text.ts';
import { maybeLong } from '../../src/fields/long-values.ts';
import { Base64, PlainContent, Secret, Text } from '../../src/fields/values.ts';
import { limitSizes, withFewDocuments } from '../../src/operations/limit-sizes.ts';
import { parseRequest } from '../../src/operations/parse-request.ts';
import { operations } from '../../src/operations/table.ts';

const said = (schema: z.ZodType, body: Readonly<Record<string, unknown>>): string => {
  try {
    parseRequest(schema, body);
    return 'taken';
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
};
const requestOf = (path: string): z.ZodType => operations.find((one) => one.path === path)?.request ?? z.never();
const zeros = (length: number): number[] => Array.from({ length }, () => 0);

describe('the size of a list or map', () => {
  it('is looked at before what it holds', () => {
    let looked = 0;
    const entry = z.string().refine(() => {
      looked += 1;
      return true;
    });
    const schema = z.strictObject({ list: z.array(entry).max(2).optional(), map: z.record(z.string(), entry).optional() });
    limitSizes(schema);
    expect(said(schema, { list: ['a', 'b'] })).toBe('taken');
    expect(looked).toBe(2);
    expect(said(schema, { list: ['a', 'b', 'c'] })).toBe('/list: this must have at most 2 entries');
    expect(said(schema, { map: Object.fromEntries(zeros(2000).map((_, index) => [`m${index}`, 'x'])) })).toBe(
      '/map: this must have at most 1000 entries',
    );
    expect(looked).toBe(2);
  });

  it('holds for every operation', () => {
    expect(
      said(requestOf('pki/createCertificate'), {
        certificationRequestInfo: { signatureActivationProtocol: 'PASSWORD' },
        certificateFormat: 'CERTIFICATE',
        signerData: { digest: zeros(100_000) },
      }),
    ).toBe('/signerData/digest: this must have at most 1000 entries');
    const wide = { keyReference: { reference: '11'.repeat(20) }, inputDocuments: [{ ID: 'd' }] };
    expect(
      said(requestOf('signature/sign'), {
        ...wide,
        parameters: { XP7Signature: { XP7Format: 'DXXP_7', timeStamp: { clientURL: zeros(65) } } },
      }),
    ).toBe('/parameters/XP7Signature/timeStamp/clientURL: this must have at most 64 entries');
  });

  it('of the documents: one more than the limit is left, and told', () => {
    expect(withFewDocuments({ a: 1, inputDocuments: zeros(1000) }, 100)).toEqual({ a: 1, inputDocuments: zeros(101) });
    expect(withFewDocuments({ inputDocuments: 'x' }, 100)).toEqual({ inputDocuments: 'x' });
  });
});

describe('the order of field errors: missing, wrong, unknown', () => {
  const sign = (XP7Signature: object): string =>
    said(requestOf('signature/sign'), {
      keyReference: { reference: '11'.repeat(20) },
      inputDocuments: [{ ID: 'd' }],
      parameters: { XP7Signature },
      unknown: 1,
    });
  const missing = '/parameters/XP7Signature/XP7Providers/CXP7Parameters/detached: this field is required';

  it.each([
    [{ XP7Format: 'CXP_7' }, missing],
    [{ XP7Format: 'CXP_7', digestAlgorithm: 'MD5' }, missing],
    [{ XP7Format: 'CXP_7', digestAlgorithm: 'MD5', XP7Providers: {} }, missing],
    [{ XP7Format: 'CXP_7', XP7Providers: 5 }, '/parameters/XP7Signature/XP7Providers: this must be an object'],
    [
      { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: [] } },
      '/parameters/XP7Signature/XP7Providers/CXP7Parameters: this must be an object',
    ],
    [
      { XP7Format: 'CXP_7', digestAlgorithm: 'MD5', XP7Providers: { CXP7Parameters: { detached: true } } },
      '/parameters/XP7Signature/digestAlgorithm: this must be one of SHA_1, SHA_256, SHA_384, SHA_512',
    ],
    [{ XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } }, '/unknown: no field has this name here'],
  ])('%#', (XP7Signature, message) => {
    expect(sign(XP7Signature)).toBe(message);
  });

  it('repeats the beginning of a long name alone', () => {
    expect(said(z.strictObject({}), { ['n'.repeat(100_000)]: 1 }).length).toBeLessThan(300);
  });
});

describe('a secret', () => {
  it('has at most 1 KiB', () => {
    const schema = z.strictObject({ secret: Secret });
    expect(said(schema, { secret: 'x'.repeat(1024) })).toBe('taken');
    expect(said(schema, { secret: 'x'.repeat(1025) })).toBe('/secret: a secret has at most 1024 bytes');
    expect(said(schema, { secret: 'é'.repeat(513) })).toBe('/secret: a secret has at most 1024 bytes');
  });
});

describe('a long text', () => {
  const schema = z.strictObject({ content: Base64.optional(), plain: PlainContent.optional(), short: Text.optional() });
  const bytes = new Uint8Array([1, 2, 3]);

  it('is taken where content is', () => {
    expect(parseRequest(schema, { content: new LongText('base64', bytes), plain: new LongText('text', bytes) })).toEqual({
      content: bytes,
      plain: bytes,
    });
    expect(said(schema, { content: new LongText('text', bytes) })).toContain('not base64');
  });

  it('is too long everywhere else', () => {
    expect(said(schema, { short: new LongText('text', bytes) })).toBe('/short: this text is too long');
    expect(said(z.strictObject({ field: z.int() }), { field: new LongText('text', bytes) })).toBe('/field: this must be a number');
  });

  it('is a text like any other to JSON Schema', () => {
    expect(z.toJSONSchema(maybeLong(), { io: 'input' })).toMatchObject({ type: 'string' });
    expect(z.toJSONSchema(Base64, { io: 'input' })).toMatchObject({ type: 'string' });
  });
});
