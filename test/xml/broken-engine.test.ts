import { afterAll, expect, test } from 'vitest';
import { WorkThreads } from '../../src/threads/work-threads.ts';

const module = new URL('./broken-engine.ts', import.meta.url);
const threads = new WorkThreads();
afterAll(async () => threads.stop());
const run = async (name: string, task = {}): Promise<unknown> => threads.run({ module, name, lane: 'parsing' }, task);

test('an engine that trapped is replaced before the next task of its thread', async () => {
  for (let round = 0; round < 3; round += 1) {
    await expect(run('breakEngine')).rejects.toThrow('memory access out of bounds');
    expect(await run('canonicalForm', { text: "<a  b='1'/>" })).toEqual(['<a b="1"></a>', true]);
  }
});
