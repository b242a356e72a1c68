import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { examples } from '../../src/cli/examples.ts';
import { failures, exitCodes } from '../../src/cli/exit-codes.ts';
import { programOf } from '../../src/cli/program.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, signetctl } from '../support/signetctl.ts';
import { readFileSync } from 'node:fs';

interface Leaf {
  readonly name: string;
  readonly command: Command;
}

/** The commands that do something themselves. */
function leaves(command: Command, path: readonly string[] = []): Leaf[] {
  if (command.commands.length === 0) return [{ name: path.join(' '), command }];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

const all = leaves(programOf(() => undefined));

/** What the help of a command prints. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}

/** The options that a line of a shell names, up to the next command. */
function optionsIn(line: string): string[] {
  return Array.from(line.matchAll(/ (--[a-z][a-z0-9-]*)/g), ([, option]) => option ?? '');
}

describe('the help of signetctl', () => {
  it.each(all)('has an example for $name', ({ command }) => {
    const help = helpOf(command);
    expect(help).toMatch(/\nExamples?:\n {2}\$ /);
  });

  it('has examples that name their command and only options that it has, and all that it requires', () => {
    for (const { name, command } of all) {
      const known = ['--config', '--json', ...command.options.map(({ long }) => long ?? '')];
      for (const line of examples.get(name) ?? []) {
        const own = line.split(' && ').at(-1) ?? '';
        expect(own).toMatch(new RegExp(`^signetctl (--json |--config \\S+ )?${name}( |$)`));
        expect(optionsIn(own).filter((option) => !known.includes(option))).toEqual([]);
        const required = command.options.filter(({ mandatory, defaultValue }) => mandatory && defaultValue === undefined);
        expect(required.map(({ long }) => long).filter((long) => !optionsIn(own).includes(long ?? ''))).toEqual([]);
        if (command.registeredArguments.some((argument) => argument.required))
          expect(own.split(' ').length).toBeGreaterThan(name.split(' ').length + 1);
      }
    }
    expect([...examples.keys()].filter((name) => !all.some((leaf) => leaf.name === name))).toEqual([]);
  });

  it('lists every exit code, as the page does', async () => {
    const { stdout } = await signetctlHere(['--help']);
    const page = readFileSync('docs/signetctl.md', 'utf8');
    for (const exitCode of Object.values(exitCodes)) {
      expect(stdout).toMatch(new RegExp(`^ {2}${exitCode} +\\S`, 'm'));
      expect(page).toMatch(new RegExp(`^\\| ${exitCode} \\|`, 'm'));
    }
    for (const { code, exitCode } of failures) expect(page).toMatch(new RegExp(`^\\| ${exitCode} \\| \`${code}\` \\|`, 'm'));
  });
});

describe('signetctl --version', () => {
  it('names version, Node and build, the same for both forms', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const { status, stdout } = await signetctl(['--version']);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^signetctl \S+ \(Node v24\.\d+\.\d+ linux-\w+, build [0-9a-f]{12}\)\n$/)]);
    expect(stdout).toContain(`signetctl ${version} `);
    const json = jsonOf(await signetctl(['--json', '--version'])) as Record<string, string>;
    expect(stdout).toContain(`build ${json['build']})`);
  });
});

describe('a fault of the command line', () => {
  it.each([
    [['clinet'], "unknown command 'clinet'; did you mean client?"],
    [['key', 'shw'], "unknown command 'shw'; did you mean show?"],
    [['key', 'list', '--tenent', 'demo'], "unknown option '--tenent'; did you mean --tenant?"],
    [['client', 'add'], "required option '--certificate <file>' not specified"],
    [['key', 'show'], "missing required argument 'reference'"],
  ])('%j is one line with exit code 2, as text and as JSON', async (args, message) => {
    expect(await signetctlHere(args)).toEqual({ status: 2, stdout: '', stderr: `signetctl: ${message}\n` });
    const asJson = await signetctlHere([...args, '--json']);
    expect([asJson.status, asJson.stdout]).toEqual([2, '']);
    expect(JSON.parse(asJson.stderr)).toEqual({ error: { code: 'usage', exitCode: 2, message, faults: [message] } });
  });

  it('is also a missing subcommand: the help, or a JSON error', async () => {
    const asText = await signetctlHere(['client']);
    expect([asText.status, asText.stdout, asText.stderr]).toEqual([2, '', expect.stringContaining('Usage: signetctl client')]);
    const asJson = await signetctlHere(['--json', 'client']);
    expect([asJson.status, JSON.parse(asJson.stderr)]).toEqual([2, { error: expect.objectContaining({ code: 'usage' }) as object }]);
  });
});

describe('errors as JSON', () => {
  it('are one object on one line of standard error, with nothing on standard output', async () => {
    const { status, stdout, stderr } = await signetctlHere(['--json', '--config', '/nowhere/\u001b[31m.yaml', 'status']);
    expect([status, stdout, stderr.split('\n').length]).toEqual([78, '', 2]);
    expect(stderr).not.toContain('\u001b');
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'configuration-invalid', exitCode: 78, message: expect.any(String) as string, faults: [expect.any(String)] },
    });
  });

  it('have the exit code of the process', async () => {
    const { status, stderr } = await signetctl(['--json', '--config', '/nowhere/signetd.yaml', 'token', 'slots']);
    expect([status, JSON.parse(stderr)]).toEqual([78, { error: expect.objectContaining({ exitCode: 78 }) as object }]);
  });
});
