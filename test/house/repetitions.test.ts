import { globSync, readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { longTests, repeatedTests } from '../../vitest.config.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

test('a file that tries more among the long tests is one of them', () => {
  const repeating = globSync('test/**/*.test.ts', { cwd: root }).filter((path) =>
    /\brepetitions\(|\bisLongRun\b/.test(readFileSync(root + path, 'utf8')),
  );
  expect(repeating.length).toBeGreaterThan(5);
  expect(repeating.filter((path) => ![longTests, ...repeatedTests].some((pattern) => matchesGlob(path, pattern)))).toEqual([]);
});
