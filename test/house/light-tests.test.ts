import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { lightTests } from '../../vitest.config.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** What needs services, and what would reach the files that follow in the same process. */
const notLight =
  /\binject\b[^;]*from 'vitest'|\bvi\.(?:mock|doMock|hoisted|stubEnv|stubGlobal)\b|support\/(?:daemon-process|postgresql)\.ts'/;

/** A file of `test/` and those that it imports, directly or not. */
function withImports(path: string): ReadonlyMap<string, string> {
  const texts = new Map([[path, '']]);
  // A map is walked in the order of insertion, what is added on the way included.
  for (const at of texts.keys()) {
    const text = readFileSync(join(root, at), 'utf8');
    texts.set(at, text);
    for (const [, specifier = ''] of text.matchAll(/\bfrom '(\.[^']+)'/g)) {
      const imported = join(dirname(at), specifier);
      if (imported.startsWith('test/') && !texts.has(imported)) texts.set(imported, '');
    }
  }
  return texts;
}

const filesNotLight = (path: string): string[] => [...withImports(path)].filter(([, text]) => notLight.test(text)).map(([name]) => name);

test('files that share processes neither use the services of the run nor replace modules', () => {
  expect(lightTests.length).toBeGreaterThan(100);
  expect(lightTests.flatMap((path) => filesNotLight(path).map((by) => `${path}: ${by}`))).toEqual([]);
});

test('a file that uses the services of the run, or replaces a module, is recognised', () => {
  const others = globSync('test/token/{session,use-account}.test.ts', { cwd: root });
  expect(others.map((path) => filesNotLight(path).length > 0)).toEqual([true, true]);
});
