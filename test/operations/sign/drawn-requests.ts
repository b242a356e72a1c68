import * as fc from 'fast-check';
import { drawnKeyNames, transactionId, type DrawnKey, type DrawnKeyName, type DrawnKeys } from './drawn-keys.ts';
import { directoryMark, drawnSigning, type DrawnFormat } from './drawn-signing.ts';

/** A request of `sign` for a tenant. `directory` in it stands for that of the service. */
export interface DrawnRequest {
  readonly tenant: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A choice of a key with its secret, or of what is wrong about them. */
const credentials = (usual: readonly DrawnKeyName[]) =>
  fc.record({
    name: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<DrawnKeyName>(...usual) },
      { weight: 2, arbitrary: fc.constantFrom(...drawnKeyNames) },
    ),
    fault: fc.oneof(
      { weight: 14, arbitrary: fc.constant('none' as const) },
      { weight: 1, arbitrary: fc.constantFrom('no secret', 'both', 'other tenant', 'unknown', 'no reference', 'capitals', 'wrong member') },
      { weight: 1, arbitrary: fc.constantFrom('guess', 'no transaction', 'wrong transaction') },
    ),
  });
const absent = { reference: 'a'.repeat(40), password: 'x' };

function keyReference(
  keys: DrawnKeys,
  { name, fault }: { readonly name: DrawnKeyName; readonly fault: string },
): { tenant: string; keyReference: object } {
  const { tenant, reference, secret }: DrawnKey = keys[name];
  const transaction = name === 'transaction' ? { transactionId } : {};
  const right = { reference, ...secret, ...transaction };
  const [text = ''] = Object.values(secret);
  switch (fault) {
    case 'no secret':
      return { tenant, keyReference: { reference } };
    case 'both':
      return { tenant, keyReference: { reference, password: text, authToken: text } };
    case 'wrong member':
      return { tenant, keyReference: { reference, ...('password' in secret ? { authToken: text } : { password: text }) } };
    case 'other tenant':
      return { tenant: tenant === 'demo' ? 'other' : 'demo', keyReference: right };
    case 'unknown':
      return { tenant, keyReference: absent };
    case 'no reference':
      return { tenant, keyReference: { ...right, reference: 'none' } };
    case 'capitals':
      return { tenant, keyReference: { ...right, reference: reference.toUpperCase() } };
    // A locked key answers nothing else any more: these concern keys that are made for it.
    case 'guess':
      return { tenant: keys.guessed.tenant, keyReference: { reference: keys.guessed.reference, password: 'a guess' } };
    case 'no transaction':
      return { tenant: keys.transaction.tenant, keyReference: { reference: keys.transaction.reference, ...keys.transaction.secret } };
    case 'wrong transaction':
      return {
        tenant: keys.transaction.tenant,
        keyReference: { ...keys.transaction.secret, reference: keys.transaction.reference, transactionId: 'x' },
      };
    default:
      return { tenant, keyReference: right };
  }
}

const output = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc.constantFrom<object>(
      { outputMode: 'BASE_64' },
      { outputMode: 'PLAIN' },
      { outputMode: 'FTM' },
      { outputMode: 'FILE_PATH', outputDirectory: `${directoryMark}/write` },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object>(
      { outputMode: 'FILE_PATH' },
      { outputMode: 'BASE_64', outputDirectory: `${directoryMark}/write` },
      { outputMode: 'FILE_PATH', outputDirectory: `${directoryMark}/absent` },
      { outputMode: 'FILE_PATH', outputDirectory: '/etc' },
      { outputMode: 'NONE' },
    ),
  },
);

/** What spoils a request that follows the schema: which member, and how. */
const spoiling = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  {
    weight: 1,
    arbitrary: fc.record({ at: fc.nat(), how: fc.constantFrom('remove', 'rename', 'number', 'null', 'list', 'add', 'prototype') }),
  },
);

/** Spoils one member of a body, at any depth. */
function spoiled(body: object, { at, how }: { readonly at: number; readonly how: string }): object {
  const copy = structuredClone(body);
  const members = membersOf(copy);
  const [holder, name] = members[at % members.length] ?? [copy, ''];
  const value: unknown = Reflect.get(holder, name);
  if (how === 'remove' || how === 'rename') Reflect.deleteProperty(holder, name);
  if (how === 'rename') Reflect.set(holder, `${name}s`, value);
  if (how === 'number') Reflect.set(holder, name, 7.5);
  if (how === 'null') Reflect.set(holder, name, null);
  if (how === 'list') Reflect.set(holder, name, [value, value]);
  if (how === 'add') Reflect.set(holder, 'unknown', 1);
  if (how === 'prototype') Object.defineProperty(holder, '__proto__', { value: 1, enumerable: true });
  return copy;
}

function membersOf(value: unknown): (readonly [object, string])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [[value, name] as const, ...membersOf(member)]);
}

/** Requests in a format, most of them good. */
export function drawnRequest(format: DrawnFormat, keys: () => DrawnKeys): fc.Arbitrary<DrawnRequest> {
  const usual: DrawnKeyName[] = ['p256', 'chosen', 'p384', format === 'code2DDoc' ? 'identity' : 'rsa'];
  return fc
    .record({
      signing: drawnSigning(format),
      credentials: credentials(usual),
      output,
      spoiling,
      requestID: fc.constantFrom({}, { requestID: 'r' }),
    })
    .map(({ signing, credentials: chosen, output: evidenceOutput, spoiling: spoil, requestID }) => {
      const { tenant, keyReference: named } = keyReference(keys(), chosen);
      const optionalInputs = evidenceOutput === undefined ? {} : { optionalInputs: { evidenceOutput } };
      const body = { keyReference: named, ...signing, ...optionalInputs, ...requestID };
      return { tenant, body: { ...(spoil === undefined ? body : spoiled(body, spoil)) } };
    });
}
