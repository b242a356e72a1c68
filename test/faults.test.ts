import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, test } from 'vitest';
import { DocumentDigests } from '../src/documents/document-digests.ts';
import { Fault, faults, isFault, refusalOf, revivedError, sentError, type FaultCode } from '../src/faults.ts';
import { Refusal } from '../src/result-codes.ts';
import { errorOf, failureOf } from '../src/state/database.ts';
import { StoreUnavailable } from '../src/state/store-unavailable.ts';
import { WorkThreads } from '../src/threads/work-threads.ts';

const codes = Object.keys(faults) as FaultCode[];

/** As another thread has it. */
function crossed(error: unknown): unknown {
  const sent = sentError(error);
  return sent === undefined ? undefined : revivedError(structuredClone(sent));
}

test.each(codes)('%s is the same fault in another thread', (code) => {
  const error = crossed(new Fault(code, { message: 'with more to say' }));
  expect(error).toBeInstanceOf(Fault);
  expect(isFault(error, code)).toBe(true);
  expect(error).toMatchObject({ message: 'with more to say' });
  expect(codes.filter((other) => isFault(error, other))).toEqual([code]);
});

test.each(codes)('%s ends a request with the result of the catalogue', (code) => {
  const fault = new Fault(code);
  expect(refusalOf(fault)).toMatchObject({ code: faults[code].result, at: undefined, cause: fault });
  expect(refusalOf(fault, { at: '/a', message: 'b' })).toMatchObject({ message: '/a: b', at: '/a', text: 'b' });
});

test.each([
  [
    'the pointer, the text and the members of its answer',
    new Refusal('FIELD_INVALID', { at: '/a/0', message: 'is wrong', answer: { left: 2 } }),
  ],
  ['the pointer of the body', new Refusal('FIELD_MISSING', { at: '' })],
  ['nothing but a code', new Refusal('STORE_FULL', { cause: new Error('disk') })],
])('a refusal with %s is the same in another thread', (_what, refusal) => {
  const { code, at, text, message, answer } = refusal;
  const error = crossed(refusal);
  expect(error).toBeInstanceOf(Refusal);
  expect(error).toMatchObject({ name: 'Refusal', code, at, text, message, answer });
});

test('an error without a code is not sent as a fault', () => {
  expect(sentError(new RangeError('internal'))).toBeUndefined();
});

test.each(['STORE_UNAVAILABLE', 'COMMIT_UNKNOWN'] as const)('the store that is away says %s in another thread', (code) => {
  const sent = structuredClone(failureOf(new StoreUnavailable('gone', { code }), () => 'defect'));
  const error = errorOf(sent);
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect(error).toMatchObject({ code, reason: 'gone', message: `${faults[code].text}: gone` });
});

describe('a work thread', () => {
  const threads = new WorkThreads();
  const directory = mkdtempSync(join(tmpdir(), 'signetd-faults-'));

  afterAll(async () => {
    await threads.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('throws a fault with its code', async () => {
    const path = join(directory, 'shorter');
    writeFileSync(path, new Uint8Array(1000));
    const descriptor = openSync(path, 'r+');
    try {
      const document = { id: 'd', fileName: undefined, source: { content: { descriptor, bytes: 1000 } } };
      ftruncateSync(descriptor, 10);
      const error: unknown = await new DocumentDigests([document], threads).of(document, 'sha256').catch((reason: unknown) => reason);
      expect(error).toEqual(new Fault('CONTENT_CHANGED'));
      expect(isFault(error, 'CONTENT_CHANGED')).toBe(true);
    } finally {
      closeSync(descriptor);
    }
  });
});
