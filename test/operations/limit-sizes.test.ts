import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LongText } from '../../src/documents/long-text.ts';
import { MaybeLong, requestJsonSchema } from '../../src/fields/long-values.ts';
import { Base64, PlainContent, Secret, Text } from '../../src/fields/values.ts';
import { InputDocuments, withFewDocuments } from '../../src/operations/fields/input-documents.ts';
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

type JsonSchema = Exclude<z.core.JSONSchema._JSONSchema, boolean>;

/** Paths of the lists and maps that have no limit. */
function unlimited(schema: z.core.JSONSchema._JSONSchema | undefined, path = ''): string[] {
  if (typeof schema !== 'object') return [];
  const { type, maxItems, propertyNames, maxProperties, items, properties = {}, anyOf = [], oneOf = [], allOf = [] } = schema;
  const entries: readonly (JsonSchema | boolean | undefined)[] = Array.isArray(items) ? items : [items];
  return [
    ...((type === 'array' && maxItems === undefined) || (propertyNames !== undefined && maxProperties === undefined) ? [path] : []),
    ...entries.flatMap((entry) => unlimited(entry, `${path}/-`)),
    ...Object.entries(properties).flatMap(([name, member]) => unlimited(member, `${path}/${name}`)),
    ...[...anyOf, ...oneOf, ...allOf].flatMap((form) => unlimited(form, path)),
  ];
}

describe('the size of a list or map', () => {
  it('is looked at before what it holds', () => {
    let looked = 0;
    const entry = z.string().refine(() => {
      looked += 1;
      return true;
    });
    const schema = z.strictObject({ list: z.array(entry).max(2).optional() });
    expect(said(schema, { list: ['a', 'b'] })).toBe('taken');
    expect(looked).toBe(2);
    expect(said(schema, { list: ['a', 'b', 'c'] })).toBe('/list: this must have at most 2 entries');
    expect(looked).toBe(2);
  });

  it('has a limit, wherever a request has one', () => {
    const found = operations.flatMap(({ path, request }) => unlimited(requestJsonSchema(request)).map((at) => `${path} ${at}`));
    expect(found).toEqual([]);
    const entry = z.array(z.strictObject({ list: z.array(z.string()) })).max(2);
    const map = z.record(z.string(), z.string()).optional();
    expect(unlimited(requestJsonSchema(z.strictObject({ entry, map, either: z.union([z.string(), z.array(z.int())]) })))).toEqual([
      '/entry/-/list',
      '/map',
      '/either',
    ]);
  });

  it('of attributes by object identifier is looked at before what they hold', () => {
    const any = Object.fromEntries(zeros(2000).map((_, index) => [`m${index}`, 'x']));
    const PKCS10 = { subject: { country: 'FR', commonName: 'x' }, attributes: { subscriber: {}, any } };
    const request = { certificationRequestInfo: { signatureActivationProtocol: 'PASSWORD', PKCS10 }, certificateFormat: 'CERTIFICATE' };
    expect(said(requestOf('pki/createCertificate'), request)).toBe('/certificationRequestInfo/PKCS10/attributes/any: at most 32 members');
    expect(said(requestOf('pki/createCertificate'), { ...request, certificateFormat: undefined })).toBe(
      '/certificateFormat: this field is required',
    );
  });

  it('of documents is as much as the configuration can allow', () => {
    const documents = Array.from({ length: 10_000 }, (_, index) => ({ ID: String(index), plainData: { plainValue: 'x' } }));
    const schema = z.strictObject({ inputDocuments: InputDocuments });
    expect(said(schema, { inputDocuments: documents })).toBe('taken');
    expect(said(schema, { inputDocuments: [...documents, { ID: 'one more' }] })).toBe(
      '/inputDocuments: this must have at most 10000 entries',
    );
  });

  it('holds for every operation', () => {
    expect(
      said(requestOf('pki/createCertificate'), {
        certificationRequestInfo: { signatureActivationProtocol: 'PASSWORD' },
        certificateFormat: 'CERTIFICATE',
        signerData: { digest: zeros(100_000) },
      }),
    ).toBe('/signerData/digest: this must have at most 10000 entries');
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
    [{ XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } }, '/unknown: unknown field'],
  ])('%#', (XP7Signature, message) => {
    expect(sign(XP7Signature)).toBe(message);
  });

  it('repeats only the beginning of a long name', () => {
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

  it('is accepted where content is', () => {
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
    expect(requestJsonSchema(MaybeLong)).toMatchObject({ type: 'string' });
    expect(requestJsonSchema(Base64)).toMatchObject({ type: 'string' });
  });
});
