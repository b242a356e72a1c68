import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseRequest } from '../../src/operations/parse-request.ts';
import { MediaType } from '../../src/fields/values.ts';

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
