import * as fc from 'fast-check';
import { z } from 'zod';
import { MaybeLong } from '../../../src/fields/long-values.ts';
import { operations } from '../../../src/operations/table.ts';
import { paths } from './json-paths.ts';

/** Values that break what takes them carelessly. */
const nasty = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    60.5,
    1e308,
    9007199254740991,
    '',
    ' ',
    [],
    {},
    [[]],
    '\u0000',
    '../../etc/passwd',
    '{{7*7}}',
    "' OR 1=1 --",
    '\u202e',
    '٣',
    '__proto__',
    'constructor',
    'A'.repeat(2000),
    'x'.repeat(70_000),
    Array.from({ length: 3000 }, () => 0),
    Array.from({ length: 1001 }, () => ({})),
    Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`m${index}`, index])),
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.jsonValue({ maxDepth: 3 }),
);

const goodBase64 = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64'));

/** Something that a schema takes, mostly: every operation's requests come from its own schema. */
function fitting(schema: z.core.$ZodType, depth = 0): fc.Arbitrary<unknown> {
  if (schema instanceof z.ZodObject) {
    const members = Object.entries<z.core.$ZodType>(schema.shape).map(
      ([name, member]) => [name, fitting(member, depth + 1), member instanceof z.ZodOptional] as const,
    );
    const required = members.filter(([, , isOptional]) => !isOptional).map(([name]) => name);
    return fc.record(Object.fromEntries(members.map(([name, value]) => [name, value])), { requiredKeys: required });
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return fitting(schema.unwrap(), depth);
  if (schema instanceof z.ZodArray) return fc.array(fitting(schema.element, depth + 1), { minLength: 1, maxLength: 3 });
  if (schema instanceof z.ZodRecord)
    return fc.dictionary(fc.constantFrom('2.5.29.17', '1.2.3', 'x'), fitting(schema.valueType, depth + 1), { maxKeys: 3 });
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodTransform) return fitting(schema.out, depth);
  if (schema instanceof z.ZodPipe)
    return schema.in === MaybeLong ? fc.oneof(goodBase64, fitting(schema.in, depth)) : fitting(schema.in, depth);
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...schema.options);
  if (schema instanceof z.ZodLiteral) return fc.constantFrom(...schema.values);
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodNumber) return fc.oneof(fc.integer({ min: -2, max: 100 }), fc.integer());
  if (schema instanceof z.ZodUnion) return fc.oneof(...schema.options.map((option) => fitting(option, depth)));
  return fc.oneof(
    fc.constantFrom(
      'x',
      'FR',
      'Camille Martin',
      '1.2.840.113549.1.1.11',
      '2.16.840.1.101.3.4.2.1',
      '11'.repeat(20),
      '+33612345678',
      'a@b.fr',
    ),
    fc.string({ maxLength: 12 }),
  );
}

/** The value with what lies at a path replaced, taken away, renamed or joined by something else. */
function bent(value: unknown, path: readonly string[], how: string, by: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return by;
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = Object.fromEntries(Object.entries(value));
  if (rest.length > 0) copy[step] = bent(copy[step], rest, how, by);
  else if (how === 'remove') delete copy[step];
  else if (how === 'rename') {
    copy[`${step}s`] = copy[step];
    delete copy[step];
  } else if (how === 'add') copy[typeof by === 'string' ? by : 'extra'] = by;
  else copy[step] = by;
  return Array.isArray(value) ? Object.values(copy) : copy;
}

/** One request, as bytes, and how they are sent. */
export interface MadeRequest {
  readonly path: string;
  readonly bytes: Buffer;
  /** Sent in so many pieces. */
  readonly pieces: number;
  /** The client goes after so long, answered or not; absent: it waits. */
  readonly leavesAfterMs?: number;
  readonly kind: string;
}

/** The methods of the Cloud Signature Consortium have other paths and answers, and hostile requests of their own. */
const byOperation = operations
  .filter(({ path }) => !path.startsWith('csc/'))
  .map(({ path, request }) => ({ path, body: fitting(request) }));

const keyReference = { reference: '11'.repeat(20), password: 'x' };
const inputDocuments = [{ ID: 'd', base64Data: { base64Value: 'eA==' } }];

/** Whole requests: bent a little they come further than what is made from a schema alone. The key is not there, so nothing is locked. */
const wholeRequests: readonly { readonly path: string; readonly value: unknown }[] = [
  { path: 'pki/checkKey', value: { keyReference, requestID: 'r' } },
  { path: 'pki/removeKey', value: { keyReference } },
  { path: 'signature/sign', value: { keyReference, parameters: { rawSignature: {} }, inputDocuments } },
  {
    path: 'signature/sign',
    value: {
      keyReference,
      parameters: {
        XP7Signature: { XP7Format: 'CXP_7', digestAlgorithm: 'SHA_256', XP7Providers: { CXP7Parameters: { detached: true } } },
      },
      inputDocuments,
    },
  },
  {
    path: 'pki/createCertificate',
    value: {
      certificationRequestInfo: {
        signatureActivationProtocol: 'PASSWORD',
        validityPeriod: 5,
        PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'x' } },
      },
      certificateFormat: 'CERTIFICATE',
    },
  },
];

const unbent = fc.oneof(
  fc.constantFrom(...byOperation).chain(({ path, body }) => body.map((value) => ({ path, value }))),
  fc.constantFrom(...wholeRequests),
);

const body = fc
  .tuple(unbent, fc.nat(), fc.constantFrom('keep', 'replace', 'remove', 'rename', 'add'), nasty)
  .map(([{ path, value }, at, how, by]) => {
    const all = paths(value);
    return { path, text: JSON.stringify(how === 'keep' ? value : bent(value, all[at % all.length] ?? [], how, by)) ?? 'null' };
  });

const header = fc.constantFrom(
  'Content-Type: application/json',
  'Content-Type: text/plain',
  'Content-Encoding: gzip',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding : chunked',
  'Content-Length: 5',
  'Content-Length: 99999999',
  'Content-Length: +1',
  'Idempotency-Key: 12345678',
  'Idempotency-Key: x',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Connection: close',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Host: other',
  'X-Long: '.padEnd(9000, 'x'),
  ' folded',
  'No colon',
  'Bad\u0000Name: x',
);

const how = fc.constantFrom(
  ...['whole', 'whole', 'whole', 'whole', 'whole', 'chunked', 'flipped', 'cut', 'headers', 'twice', 'raw', 'oversized', 'slow'],
);

/** Hostile requests of all kinds, whole and well framed ones most of all: they reach deepest. */
export const madeRequest: fc.Arbitrary<MadeRequest> = fc
  .tuple(
    body,
    how,
    fc.nat(),
    fc.nat(255),
    fc.array(header, { minLength: 1, maxLength: 4 }),
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
  )
  .map(([{ path, text }, kind, at, byte, headers, noise]) => {
    const target = `/sign/${path}`;
    const content = Buffer.from(text);
    const framed = (length: number, ...more: string[]): Buffer =>
      Buffer.from(
        `${[`POST ${target} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', `Content-Length: ${length}`, ...more].join('\r\n')}\r\n\r\n`,
        'latin1',
      );
    const whole = Buffer.concat([framed(content.length), content]);
    const made = (bytes: Buffer, extra: Partial<MadeRequest> = {}): MadeRequest => ({
      path,
      bytes,
      pieces: 1,
      kind,
      ...extra,
    });
    switch (kind) {
      case 'chunked': {
        const cut = at % (content.length + 1);
        const chunk = (part: Buffer): string => (part.length === 0 ? '' : `${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`);
        const head = `POST ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
        return made(Buffer.from(`${head}${chunk(content.subarray(0, cut))}${chunk(content.subarray(cut))}0\r\n\r\n`, 'latin1'));
      }
      case 'flipped': {
        const bytes = Buffer.from(whole);
        bytes[at % bytes.length] = byte;
        return made(bytes, { leavesAfterMs: 500 });
      }
      case 'cut':
        return made(whole.subarray(0, at % whole.length), { leavesAfterMs: 20 });
      case 'headers':
        return made(
          Buffer.concat([Buffer.from(`POST ${target} HTTP/1.1\r\nHost: localhost\r\n${headers.join('\r\n')}\r\n\r\n`, 'latin1'), content]),
          {
            leavesAfterMs: 500,
          },
        );
      case 'twice':
        return made(Buffer.concat([whole, whole.subarray(0, at % whole.length), Buffer.from(noise)]), { leavesAfterMs: 500 });
      case 'raw':
        return made(Buffer.from(noise), { leavesAfterMs: 20 });
      case 'oversized':
        return made(Buffer.concat([framed(1 + (at % 200_000_000)), content]), { leavesAfterMs: 20 });
      case 'slow':
        return made(whole, { pieces: 1 + (at % 20) });
      default:
        return made(whole);
    }
  });
