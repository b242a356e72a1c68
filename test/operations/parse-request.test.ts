import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseRequest } from '../../src/operations/parse-request.ts';
import { digestLengthFault } from '../../src/operations/fields/digest-length.ts';
import { MediaType } from '../../src/fields/values.ts';
import { Refusal } from '../../src/result-codes.ts';

/** What a request with this value of `field` is told. */
function refusalOf(schema: z.ZodType, field: unknown): string {
  try {
    parseRequest(z.strictObject({ field: schema }), { field });
  } catch (error) {
    return error instanceof Error ? error.message : 'no error';
  }
  return 'taken';
}

describe('a wrong field is told in plain words', () => {
  it.each([
    [z.string(), 1, '/field: this must be text'],
    [z.number(), 'x', '/field: this must be a number'],
    [z.int(), 1.5, '/field: this must be a whole number'],
    [z.boolean(), 'true', '/field: this must be true or false'],
    [z.array(z.string()), {}, '/field: this must be a list'],
    [z.strictObject({}), [], '/field: this must be an object'],
    [z.record(z.string(), z.string()), 'x', '/field: this must be an object'],
    [z.enum(['A', 'B']), 'C', '/field: this must be one of A, B'],
    [z.int().positive(), 0, '/field: this must be more than 0'],
    [z.int().min(1), 0, '/field: this must be at least 1'],
    [z.int().lt(5), 5, '/field: this must be less than 5'],
    [z.string().min(2), 'x', '/field: this must have at least 2 characters'],
    [z.array(z.string()).max(1), ['a', 'b'], '/field: this must have at most 1 entries'],
    [z.record(z.string().regex(/^a$/, 'not an a'), z.string()), { b: 'x' }, '/field/b: not an a'],
    [z.string().min(2, 'own words'), 'x', '/field: own words'],
  ])('%#', (schema, value, message) => {
    expect(refusalOf(schema, value)).toBe(message);
  });
});

describe('a misspelt field', () => {
  const schema = z.strictObject({
    keyReference: z.string(),
    requestID: z.string().optional(),
    inner: z.strictObject({ hash: z.string() }).optional(),
  });
  const told = (body: Readonly<Record<string, unknown>>): string => {
    try {
      parseRequest(schema, body);
    } catch (error) {
      return error instanceof Error ? error.message : 'no error';
    }
    return 'taken';
  };
  const keyReference = 'k';
  it.each([
    [{ keyReference, requestId: 'x' }, '/requestId: unknown field; did you mean "requestID"?'],
    [{ keyReference, reqeustID: 'x' }, '/reqeustID: unknown field; did you mean "requestID"?'],
    [{ keyReference, inner: { hash: 'x', hsah: 'y' } }, '/inner/hsah: unknown field; did you mean "hash"?'],
    [{ keyReference, colour: 'x' }, '/colour: unknown field'],
    [{ keyReference, id: 'x' }, '/id: unknown field'],
    [JSON.parse('{"keyReference":"k","__proto__":1}'), '/__proto__: unknown field'],
    [{ keyreference: 'k' }, '/keyReference: this field is required; the unknown field "keyreference" has a similar name'],
    [{ inner: { haash: 'x' }, keyReference }, '/inner/hash: this field is required; the unknown field "haash" has a similar name'],
    [{ 'keyR\u00e9ference': 'k' }, '/keyReference: this field is required; the unknown field "keyR\\u00e9ference" has a similar name'],
    [{ inner: { hash: 'x' }, hash: 'x' }, '/keyReference: this field is required'],
    [{}, '/keyReference: this field is required'],
  ] as const)('%j', (body, message) => {
    expect(told(body as Readonly<Record<string, unknown>>)).toBe(message);
  });

  it('that is very long is compared with none, and repeated only in part', () => {
    expect(told({ keyReference, [`requestID${'x'.repeat(100_000)}`]: 1 })).toMatch(/^\/requestIDx{119}…: unknown field$/);
  });
});

it('a refusal of the request as a whole has an empty pointer', () => {
  expect(new Refusal('FIELDS_INCONSISTENT', { at: '', message: 'the recipient is missing' }).message).toBe('the recipient is missing');
});

describe('a digest of the wrong length', () => {
  it.each([
    [Buffer.alloc(3), 'a sha256 digest has 32 bytes'],
    [Buffer.alloc(32), undefined],
    // What a caller means who writes the digits of the digest.
    [Buffer.from('ab'.repeat(32), 'base64'), 'a sha256 digest has 32 bytes; this one is written in hexadecimal, and must be base64'],
    [Buffer.from('AB12'.repeat(16), 'base64'), 'a sha256 digest has 32 bytes; this one is written in hexadecimal, and must be base64'],
    [Buffer.from('xyz0'.repeat(16), 'base64'), 'a sha256 digest has 32 bytes'],
  ])('%#', (value, fault) => {
    expect(digestLengthFault('sha256', value)).toBe(fault);
  });
});

describe('a media type', () => {
  it.each(['text/plain', 'application/vnd.etsi.asic-e+zip', 'text/plain; charset=utf-8', 'a/b;c="d;\\"e"; f=g'])('%j is one', (text) => {
    expect(refusalOf(MediaType, text)).toBe('taken');
  });

  it.each([
    '',
    'x',
    'x\r\n',
    'text/',
    '/plain',
    'text/plain\r\nX: y',
    'text/plain;',
    'text/plain; charset',
    'té/xt',
    `a/${'b'.repeat(300)}`,
  ])('%j is none', (text) => {
    expect(refusalOf(MediaType, text)).toContain('not a media type');
  });

  it('is one line of ASCII, whatever comes', () => {
    const parts = fc.constantFrom('a', '/', ';', '=', '"', '\\', ' ', '\t', '\n', '\r', '\u0000', 'é');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(parts).map((list) => `a/b${list.join('')}`),
        ),
        (text) => {
          if (refusalOf(MediaType, text) === 'taken') expect(text).toMatch(/^[\t\x20-\x7e]+$/);
        },
      ),
    );
  });
});
