import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { commandTree, runnable } from '../../packaging/manual/command-tree.ts';
import { programOf } from '../../src/cli/program.ts';
import { codeBlocks } from './shell-blocks.ts';

const guides = 'test/docs/guides.long.test.ts';
const installed = 'test/docs/installed.long.test.ts';
const setup = 'test/cli/setup/setup.long.test.ts';
const container = 'test/packaging/container.long.test.ts';
const fourEyes = 'test/docs/four-eyes.long.test.ts';
const rotating = 'test/docs/rotating.long.test.ts';
const moving = 'test/docs/moving.long.test.ts';
const movingToHsm = 'test/docs/moving-hsm.long.test.ts';
const registries = 'test/docs/registries.long.test.ts';

/**
 * The test that runs the commands of a page: those under each of some headings, and all others (`rest`). A test that is named here names
 * the page.
 */
const runners: Readonly<Record<string, { readonly rest?: string; readonly [heading: string]: string | undefined }>> = {
  'README.md': { 'Two commands': 'test/quickstart.test.ts', 'The first signature by hand': guides },
  'CONTRIBUTING.md': { 'Build and test': '.ci/run' },
  'clients/python/README.md': { rest: registries },
  'clients/typescript/README.md': { rest: registries },
  'docs/2d-doc.md': { rest: guides },
  'docs/activation.md': { rest: guides },
  'docs/api.md': { rest: guides, 'Clients from the OpenAPI document': registries },
  'docs/audit.md': { rest: installed },
  'docs/backup.md': { rest: 'test/backup/backup.long.test.ts' },
  'docs/conformance.md': { Validators: 'test/conformance/conformance.ts' },
  'docs/console.md': { rest: installed },
  'docs/containers.md': { rest: container },
  'docs/csc.md': { rest: guides, 'Example: pyHanko': 'test/docs/csc.test.ts' },
  'docs/documents.md': { rest: guides },
  'docs/four-eyes.md': { rest: fourEyes },
  'docs/health.md': { rest: installed },
  'docs/identity-providers.md': { rest: guides },
  'docs/installation.md': { rest: 'test/packaging/installed.long.test.ts' },
  'docs/installing-by-hand.md': { rest: installed },
  'docs/levels.md': { rest: guides },
  'docs/lost-pin.md': { rest: installed },
  'docs/moving.md': { rest: movingToHsm, 'To PostgreSQL': moving },
  'docs/new-profile.md': { rest: installed },
  'docs/pades.md': { rest: guides },
  'docs/quickstart.md': { rest: guides },
  'docs/remote-signing.md': { rest: guides },
  'docs/renewing-authorities.md': { rest: installed },
  'docs/rotating.md': { rest: rotating },
  'docs/setup.md': {
    rest: setup,
    Unattended: installed,
    PostgreSQL: moving,
    'A client CA of your own with OpenSSL': 'test/cli/setup/own-client-ca.test.ts',
  },
  'docs/several-instances.md': { rest: 'test/instances/units.long.test.ts' },
  'docs/signetctl.md': { rest: installed, 'signetctl state copy': moving, 'signetctl token accept': movingToHsm },
  'docs/time-stamps.md': { rest: installed, '': guides },
  'docs/tutorial.md': { rest: guides },
  'docs/webcrypto.md': { rest: 'test/webcrypto/example.test.ts' },
  'docs/xades.md': { rest: guides },
};

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync('clients').map((name) => `clients/${name}/README.md`),
];
const blocksOf = (page: string): ReturnType<typeof codeBlocks> => codeBlocks(readFileSync(page, 'utf8'));
/** What a page shows for an installed service beside its other commands is in blocks ```bash, which the test of installed services runs. */
const commandsOf = (page: string): ReturnType<typeof codeBlocks> =>
  blocksOf(page).filter(({ language }) => ['sh', 'console', 'bash'].includes(language));

describe('the commands of the documentation', () => {
  it.each(pages)('every block of %s names its language', (page) => {
    expect(blocksOf(page).filter(({ language }) => language === '')).toEqual([]);
  });

  it.each(pages)('a test runs every command of %s', (page) => {
    const named = runners[page] ?? {};
    for (const { heading, text, language } of commandsOf(page)) {
      const test = language === 'bash' ? installed : (named[heading] ?? named.rest);
      expect(test, `${page}, ${heading}: no test runs\n${text}`).toBeDefined();
      if (test !== undefined) expectRun(test, page, heading);
    }
  });

  it('the table of tests has no page and no heading without commands', () => {
    for (const [page, { rest, ...headings }] of Object.entries(runners)) {
      const found = new Set(commandsOf(page).map(({ heading }) => heading));
      expect([page, Object.keys(headings).filter((heading) => !found.has(heading))]).toEqual([page, []]);
      if (rest !== undefined)
        expect(
          [...found].filter((heading) => !(heading in headings)),
          page,
        ).not.toEqual([]);
    }
  });

  it('every npm script that a page names exists', () => {
    const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(readFileSync('package.json', 'utf8')));
    const named = pages
      .filter((page) => !page.startsWith('clients/'))
      .flatMap((page) => Array.from(readFileSync(page, 'utf8').matchAll(/npm run ([a-z][\w:-]*[\w])/g), ([, name = '']) => name));
    expect(new Set(named.filter((name) => !(name in scripts)))).toEqual(new Set());
  });

  it('every command line of signetctl in a block has an existing command and existing options', () => {
    const tree = commandTree(programOf(() => undefined));
    const all = runnable(tree);
    const faults: string[] = [];
    for (const page of pages)
      for (const { text } of blocksOf(page))
        for (const [line] of text.replaceAll(/\\\n/g, ' ').matchAll(/(?:^|\$ |&& |\| )signetctl (?!:|\[)[^|&\n]*/gm)) {
          const words = line.replace(/^.*?signetctl /, '').split(/\s+/);
          const command = all.find(({ words: own }) => own.every((word, index) => words[index] === word));
          const known = [...tree.options, ...(command?.options ?? [])].flatMap(({ names }) => names);
          const unknown = words.filter((word) => /^--[a-z]/.test(word) && !known.includes(word) && word !== '--help');
          if (command === undefined || unknown.length > 0) faults.push(`${page}: ${line} ${unknown.join(' ')}`);
        }
    expect(faults).toEqual([]);
  });
});

/** A test names a page by its path, or by its name beside a function that reads pages. One that follows parts of pages names their headings. */
function expectRun(test: string, page: string, heading: string): void {
  const source = readFileSync(test, 'utf8');
  const names = [page, `'${page.replace(/^docs\/(.*)\.md$/, '$1')}'`];
  expect(
    names.some((name) => source.includes(name)),
    `${test} does not name ${page}`,
  ).toBe(true);
  if (test !== installed) return;
  const headings = [heading, heading.replace(/^signetctl /, '')].map((text) => `'${text}'`);
  expect(
    headings.some((text) => source.includes(text)),
    `${test} does not follow "${heading}" of ${page}`,
  ).toBe(true);
}
