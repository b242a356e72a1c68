import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const tests = fileURLToPath(new URL('..', import.meta.url));
const ownName = 'house/skips.test.ts';
/** A test that is left out by its condition, up to the end of its name. */
const skippedByCondition = /\.(?:skipIf|runIf)\([^]*?\)\(\s*(?:`[^`]*`|'[^']*')/g;
/** Ways to leave a test out that tell no reason. */
const withoutReason = /\b(?:it|test|describe)\.(?:skip|todo)\b(?!\()|\b(?:it|describe)\.(?:skip|todo)\(|\b(?:context|test)\.skip\(\)/g;

test('every test that may be skipped tells its reason', () => {
  const silent: string[] = [];
  for (const name of readdirSync(tests, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.test.ts') || name === ownName) continue;
    const text = readFileSync(`${tests}${name}`, 'utf8');
    for (const [found] of text.matchAll(skippedByCondition)) if (!found.includes('skipNote(')) silent.push(`${name}: ${found}`);
    for (const [found] of text.matchAll(withoutReason)) silent.push(`${name}: ${found}`);
  }
  expect(silent).toEqual([]);
});
