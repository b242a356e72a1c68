import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { commandTree, runnable } from '../../packaging/manual/command-tree.ts';
import { programOf } from '../../src/cli/program.ts';

const pageOf = (name: string): string => readFileSync(`docs/${name}.md`, 'utf8');
const sections = pageOf('signetctl').split(/^(?=##)/m);
/** Commands that have a page of their own. */
const ownPages = new Map([
  ['setup', 'setup'],
  ...['verify', 'find', 'tail', 'export', 'prune', 'rotate-key'].map((name) => [`audit ${name}`, 'audit'] as const),
]);
const tree = commandTree(programOf(() => undefined));

/** The text in which a command is described. */
function descriptionOf(command: string): string {
  const own = ownPages.get(command);
  return own === undefined ? sections.filter((section) => new RegExp(`^#.*\\b${command}\\b`).test(section)).join('') : pageOf(own);
}

it.each(runnable(tree).map(({ words, options }) => ({ command: words.join(' '), options })))(
  'docs/ describes signetctl $command with all its options',
  ({ command, options }) => {
    const text = descriptionOf(command);
    expect(text).toContain(command);
    const names = options.flatMap((option) => option.names).filter((name) => name.startsWith('--'));
    expect(names.filter((name) => !new RegExp(`${name}(?![\\w-])`).test(text))).toEqual([]);
  },
);

it('docs/signetctl.md describes the options of every command', () => {
  const names = tree.options.flatMap((option) => option.names);
  expect(names.filter((name) => !new RegExp(`${name}(?![\\w-])`).test(pageOf('signetctl')))).toEqual([]);
});
