import { createHash, randomBytes } from 'node:crypto';
import { array, assert, asyncProperty, constantFrom, property, record, uint8Array } from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { DocumentDigests } from '../../src/documents/document-digests.ts';
import type { InputDocument } from '../../src/documents/document.ts';
import { bindingOf, bindingText, coversDigests, coversDocuments, type BoundDigest } from '../../src/keys/digest-binding.ts';
import { WorkThreads, type ThreadFunction } from '../../src/threads/work-threads.ts';
import { hashNames } from '../../src/token/signature-algorithm.ts';

const threads = new WorkThreads();
afterAll(async () => threads.stop());

const document = (id: string, content: Uint8Array): InputDocument => ({ id, fileName: undefined, source: { content } });
const covers = async (binding: readonly BoundDigest[], documents: readonly InputDocument[]): Promise<boolean> =>
  coversDocuments(binding, documents, new DocumentDigests(documents, threads));

const Entry = record({
  id: constantFrom('a', 'b', ' a'),
  hash: constantFrom(...hashNames),
  value: uint8Array({ maxLength: 2 }),
});

describe('a list of digests', () => {
  it('covers another list where each of its entries is in it, and is the same after it was stored', () => {
    assert(
      property(array(Entry), array(Entry), (binding, digests) => {
        const isIn = digests.every((digest) =>
          binding.some((entry) => entry.id === digest.id && entry.hash === digest.hash && Buffer.compare(entry.value, digest.value) === 0),
        );
        expect(coversDigests(binding, digests)).toBe(isIn);
        expect(coversDigests(bindingOf(bindingText(binding)), digests)).toBe(isIn);
      }),
    );
  });

  it.each([1000, 1024 * 1024])('covers documents of %s bytes by any hash of it', async (bytes) => {
    const contents = { a: new Uint8Array(randomBytes(bytes)), b: new Uint8Array(randomBytes(bytes)) };
    const entry = (id: string, hash: 'sha256' | 'sha512', content: Uint8Array): BoundDigest => ({
      id,
      hash,
      value: createHash(hash).update(content).digest(),
    });
    const binding = [entry('a', 'sha256', contents.b), entry('a', 'sha512', contents.a), entry('b', 'sha256', contents.b)];
    expect(await covers(binding, [document('a', contents.a), document('b', contents.b)])).toBe(true);
    expect(await covers(binding, [document('b', contents.a)])).toBe(false);
    expect(await covers(binding, [document('c', contents.a)])).toBe(false);
  });

  it('covers documents without IDs by any of its entries of the same hash', async () => {
    const given = asyncProperty(array(Entry), array(Entry, { maxLength: 3 }), async (binding, asked) => {
      const documents = asked.map(({ hash, value }, index): InputDocument => {
        return { id: String(index), fileName: undefined, source: { digest: { hash, value } } };
      });
      const isIn = asked.every(({ hash, value }) =>
        binding.some((entry) => entry.hash === hash && Buffer.compare(entry.value, value) === 0),
      );
      expect(await coversDocuments(binding, documents, new DocumentDigests(documents, threads), 'without ID')).toBe(isIn);
    });
    await assert(given);
  });

  it('of a thousand entries for one big document has it hashed once, outside of the event loop', async () => {
    const tasks: string[] = [];
    const counting = {
      run: async <Result>(work: ThreadFunction, task: object): Promise<Result> => {
        tasks.push(work.name);
        return threads.run<Result>(work, task);
      },
    };
    const big = document('x', new Uint8Array(new SharedArrayBuffer(16 * 1024 * 1024)));
    const binding = Array.from({ length: 1000 }, (): BoundDigest => ({ id: 'x', hash: 'sha512', value: randomBytes(64) }));
    expect(await coversDocuments(binding, [big], new DocumentDigests([big], counting))).toBe(false);
    expect(tasks).toEqual(['digests']);
  });
});
