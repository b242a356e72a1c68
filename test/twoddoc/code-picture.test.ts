import { afterAll, describe, expect, it } from 'vitest';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { drawnCode, takesLongToDraw } from '../../src/twoddoc/code-picture.ts';
import { readByOthers } from '../support/symbol-readers.ts';

const threads = new WorkThreads();
afterAll(async () => {
  await threads.stop();
});

const code = Buffer.from('DC04FR000001125E125B0101FR26FR');
const wish = { format: 'PNG', text: '2D-DOC', position: 'LEFT' } as const;
const settings = { modulePixels: 5, dpi: 300, quietZoneModules: 1, encodation: 'C40' } as const;

describe('a code is drawn', () => {
  it.each([
    [6, 'C40', false],
    [6, 'MIXED', true],
    [32, 'C40', true],
  ] as const)('with modules of %i pixels, in %s, in a thread: %s', async (modulePixels, encodation, isInThread) => {
    const asked = { code, wish, settings: { ...settings, modulePixels, encodation }, at: '/here' };
    expect(takesLongToDraw(asked.settings)).toBe(isInThread);
    const { content } = await drawnCode(asked, threads);
    expect(await readByOthers(content)).toEqual({ dmtxread: code, zxing: code });
    const large = { ...asked, code: Buffer.alloc(4000, 'A') };
    await expect(drawnCode(large, threads)).rejects.toMatchObject({
      ...{ code: 'DOCUMENT_INVALID', at: '/here' },
      message: expect.stringContaining('too large for a symbol') as string,
    });
  });
});
