import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, contentDocument, newKey, type TestKey } from '../../support/api.ts';
import { paths } from './json-paths.ts';

const bodies = 2000;
const operations = ['signature/sign', 'pki/createCertificate', 'pki/checkKey', 'pki/removeKey'] as const;
let key: TestKey;

beforeAll(async () => {
  key = await newKey('other');
});

/** A whole request of each operation, to be bent. It is aimed at a key that is not there, so that hostile secrets lock nothing. */
function requestOf(operation: (typeof operations)[number]): Record<string, unknown> {
  const keyReference = { reference: '11'.repeat(20), password: key.password };
  if (operation === 'pki/createCertificate') return certificateRequest({ validityPeriod: 5 });
  if (operation !== 'signature/sign') return { keyReference, requestID: 'r' };
  const XP7Signature = { XP7Format: 'CXP_7', digestAlgorithm: 'SHA_256', XP7Providers: { CXP7Parameters: { detached: true } } };
  return { keyReference, parameters: { XP7Signature }, inputDocuments: [contentDocument('x')], requestID: 'r' };
}

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    60.5,
    1e308,
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
    'x'.repeat(70_000),
    '__proto__',
    'constructor',
    9007199254740991,
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** The value with what lies at a path replaced, taken away, renamed or joined by something else. */
function bent(value: unknown, path: readonly string[], how: string, by: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return by;
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = Array.isArray(value)
    ? ([...(value as unknown[])] as unknown as Record<string, unknown>)
    : { ...value };
  if (rest.length > 0) copy[step] = bent(copy[step], rest, how, by);
  else if (how === 'replace') copy[step] = by;
  else if (how === 'remove') delete copy[step];
  else if (how === 'rename') {
    copy[`${step}${typeof by === 'string' ? by : 's'}`] = copy[step];
    delete copy[step];
  } else copy[typeof by === 'string' ? by : 'extra'] = by;
  return copy;
}

describe(`${bodies} hostile bodies`, () => {
  it('are answered with 400 or a code of the catalogue: no 5xx, no 2/299', async () => {
    const made = fc.sample(
      fc.tuple(
        fc.constantFrom(...operations),
        fc.nat(),
        fc.constantFrom('replace', 'remove', 'rename', 'add'),
        hostile,
        fc.nat(9),
        fc.nat(),
        fc.nat(255),
      ),
      { numRuns: bodies, seed: 20_260_101 },
    );
    const outcomes = new Map<string, number>();
    const bad: string[] = [];
    const one = async ([operation, at, how, by, rawKind, cut, byte]: (typeof made)[number]): Promise<void> => {
      const request = requestOf(operation);
      const all = paths(request);
      let body: string | Buffer = JSON.stringify(bent(request, all[at % all.length] ?? [], how, by)) ?? 'null';
      if (rawKind === 0) body = body.slice(0, cut % (body.length + 1));
      if (rawKind === 1) {
        body = Buffer.from(body);
        body[cut % body.length] = byte;
      }
      const answer = await call('other', operation, body);
      const code = codeOf(answer);
      outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
      if (code === '2/299' || (answer.status !== 200 && answer.status !== 400) || code.includes('undefined'))
        bad.push(`${operation} ${String(body).slice(0, 300)} → ${answer.status} ${answer.text.slice(0, 200)}`);
    };
    const queue = [...made];
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let next = queue.pop(); next !== undefined; next = queue.pop()) await one(next);
      }),
    );
    expect(bad).toEqual([]);
    // The bodies reach every layer: HTTP, fields, consistency, keys, success.
    for (const code of ['HTTP 400', '1/101', '1/102', '1/103', '2/201', '0/0']) expect(outcomes.get(code) ?? 0).toBeGreaterThan(0);
  }, 180_000);
});
