import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { isFault } from '../../src/faults.ts';
import { DocumentDigests } from '../../src/documents/document-digests.ts';
import type { InputDocument } from '../../src/documents/document.ts';
import { coversDocuments } from '../../src/keys/digest-binding.ts';
import { prepareSignatures } from '../../src/signatures/prepare-signatures.ts';
import { completeSignatures, documentsAsPrepared, type SigningPlan } from '../../src/signatures/signatures.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { noLevels, planOf, softwareSigner, valueOf } from './software-signer.ts';
import { usualProperties } from '../../src/signatures/request/signed-properties.ts';
import { documentNamed, xadesParameters } from './xades/xades-signer.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-prepared-'));
const path = join(directory, 'document');
const threads = new WorkThreads();
const signer = softwareSigner('signer');
const asked = Buffer.alloc(2_000_000, 'a');
const authorised = Buffer.alloc(2_000_000, 'b');
let descriptor: number;
beforeEach(() => {
  writeFileSync(path, asked);
  descriptor = openSync(path, 'r');
  return () => {
    closeSync(descriptor);
  };
});
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

const document = (): InputDocument => ({ id: 'd', fileName: undefined, source: { content: { descriptor, bytes: asked.length } } });
const { algorithm } = signer;
const plans: Record<string, SigningPlan> = { raw: { ...planOf(signer), format: 'raw', parameters: { algorithm } }, cms: planOf(signer) };

describe.each(Object.entries(plans))('a file that %s prepared', (_name, plan) => {
  test.each(['sha256', 'sha512'] as const)('counts for a digest by %s that a key is bound to as long as it is the same', async (hash) => {
    const bound = (content: Uint8Array) => [{ id: 'd', hash, value: createHash(hash).update(content).digest() }];
    const prepared = await prepareSignatures(plan, [document()], threads);
    const documents = documentsAsPrepared([document()], prepared);
    const covers = async (content: Uint8Array): Promise<boolean> =>
      coversDocuments(bound(content), documents, new DocumentDigests(documents, threads));
    expect(await covers(asked)).toBe(true);
    expect(await covers(authorised)).toBe(false);
    // What is signed was prepared; what is looked at now is the document that the key may sign.
    writeFileSync(path, authorised);
    const error: unknown = await covers(authorised).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(isFault(error, 'CONTENT_CHANGED')).toBe(true);
  });
});

describe.each(Object.entries(plans))('many small documents for %s', (_name, plan) => {
  test.each([
    [200, 0],
    [201, 1],
  ])('%d are prepared in a thread %d times, with the same result', async (count, times) => {
    const documents = Array.from({ length: count }, (_, index) => ({
      ...{ id: `d${index}`, fileName: undefined },
      source: { content: Buffer.from(`document ${index}`) },
    }));
    const run = vi.spyOn(threads, 'run');
    try {
      const { prepared } = await prepareSignatures(plan, documents, threads);
      expect(run).toHaveBeenCalledTimes(times);
      const expected = documents.map(({ source }) => createHash('sha256').update(source.content).digest('hex'));
      expect(prepared.map(({ covers }) => Buffer.from(covers[0]?.digest?.value ?? []).toString('hex'))).toEqual(expected);
    } finally {
      run.mockRestore();
    }
  });
});

test('long texts of a request, once for each document, are written in a thread', async () => {
  const parameters = xadesParameters({ properties: { ...usualProperties, claimedRoles: ['é'.repeat(60_000)] } });
  const plan: SigningPlan = { ...planOf(signer), format: 'enveloping', parameters };
  const documents = (count: number): InputDocument[] => Array.from({ length: count }, (_, index) => documentNamed('<a/>', `d${index}`));
  const run = vi.spyOn(threads, 'run');
  try {
    for (const [count, times] of [
      [1, 0],
      [20, 1],
    ] as const) {
      const prepared = await prepareSignatures(plan, documents(count), threads);
      expect(run).toHaveBeenCalledTimes(times);
      const values = new Map(prepared.prepared.map((one) => [one.id, valueOf(signer, one, algorithm)]));
      expect(await completeSignatures(prepared, values, { threads, levels: noLevels })).toHaveLength(count);
      expect(run).toHaveBeenCalledTimes(2 * times);
    }
  } finally {
    run.mockRestore();
  }
});
