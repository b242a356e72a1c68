import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { directory } from '../support/api.ts';
import { codeBlocks, shellBlocks, type ShellBlock } from './shell-blocks.ts';

const separator = '---- end of a block ----';
const readPage = (page: string): string => readFileSync(page, 'utf8');

/** Pages whose commands stand for themselves; of some, only those under one heading, or above the first one, or all but those under a heading. */
const pages: readonly { readonly page: string; readonly heading?: string; readonly without?: string }[] = [
  ...['2d-doc', 'activation', 'documents', 'identity-providers', 'quickstart', 'remote-signing', 'tutorial'].map((name) => ({
    page: `docs/${name}.md`,
  })),
  { page: 'docs/csc.md', without: 'Example: pyHanko' },
  { page: 'docs/time-stamps.md', heading: '' },
];

/** Pages whose commands follow those of the README, with a first request of the page in a file. */
const afterReadme = [
  { page: 'docs/api.md', heading: 'curl' },
  { page: 'docs/levels.md' },
  { page: 'docs/pades.md', request: 'signature.json' },
  { page: 'docs/xades.md', request: 'request.json' },
];

let workplace: string;
beforeEach(() => {
  workplace = mkdtempSync(join(tmpdir(), 'signetd-guide-'));
  // The guides are written for a clone with a running quickstart.
  mkdirSync(join(workplace, 'var'));
  symlinkSync(directory, join(workplace, 'var', 'quickstart'));
  symlinkSync(resolve('dist'), join(workplace, 'dist'));
});
afterEach(() => {
  rmSync(workplace, { recursive: true, force: true });
});

/** Runs blocks one after the other in one shell, and answers what each of them printed. */
function printedBy(blocks: readonly ShellBlock[]): string[] {
  const script = ['set -euo pipefail', ...blocks.flatMap(({ commands }) => [commands, `echo '${separator}'`])].join('\n');
  // The link to the quickstart is no parent of its files.
  const printed = execFileSync('bash', ['-c', script.replaceAll('../../docs/', `${resolve('docs')}/`)], {
    cwd: workplace,
    encoding: 'utf8',
  });
  return printed.split(`${separator}\n`).slice(0, -1);
}

const outputsOf = (blocks: readonly ShellBlock[]): string[] => blocks.map(({ output }) => output ?? '');
const readme = shellBlocks(readPage('README.md'), 'The first signature by hand');

it.each(pages)('the commands of $page do what it says', ({ page, heading, without }) => {
  const [before = '', ...after] = readPage(page).split(`\n## ${without ?? ''}\n`);
  const blocks = shellBlocks(before + after.map((text) => text.replace(/^.*?(?=\n## )/s, '')).join(''), heading);
  expect(blocks.length).toBeGreaterThan(0);
  expect(printedBy(blocks)).toEqual(outputsOf(blocks));
});

it.each(afterReadme)('the commands of README.md, and then those of $page, do what they say', ({ page, heading, request }) => {
  const text = readPage(page);
  const blocks = shellBlocks(text, heading);
  expect(readme.length).toBeGreaterThan(1);
  expect(blocks.length).toBeGreaterThan(0);
  if (request !== undefined)
    writeFileSync(join(directory, request), codeBlocks(text).find(({ language }) => language === 'json')?.text ?? '');
  expect(printedBy([...readme, ...blocks])).toEqual(outputsOf([...readme, ...blocks]));
});
