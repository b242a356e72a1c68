import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { Config } from '../../src/config/config.ts';
import { skipNote } from '../support/skip-note.ts';
import { makePackage, packageOfThisBuild } from './made-package.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-deb-'));
const content = join(directory, 'content');
const withoutDpkg = spawnSync('dpkg-deb', ['--version']).error === undefined ? undefined : 'this is not a Debian system';
const withoutLintian = spawnSync('lintian', ['--version']).error === undefined ? withoutDpkg : 'lintian is not installed';
let file = '';

beforeAll(() => {
  if (withoutDpkg !== undefined) return;
  file = packageOfThisBuild();
  execFileSync('dpkg-deb', ['--extract', file, content]);
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const Bom = z.object({
  specVersion: z.literal('1.6'),
  components: z.array(z.object({ 'bom-ref': z.string(), name: z.string(), group: z.string().optional(), version: z.string().optional() })),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

describe.skipIf(withoutDpkg !== undefined)(`the package${skipNote(withoutDpkg)}`, () => {
  it('is the same from a working copy in another directory that was compiled there', () => {
    const other = join(directory, 'elsewhere', 'another name');
    const sources = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { encoding: 'utf8' }).split('\0');
    for (const path of sources.filter((name) => name !== '' && existsSync(name))) cpSync(path, join(other, path), { recursive: true });
    symlinkSync(join(process.cwd(), 'node_modules'), join(other, 'node_modules'));
    cpSync('.git', join(other, '.git'), { recursive: true });
    execFileSync('sh', ['packaging/bootstrap.sh'], { cwd: other, stdio: 'ignore' });
    const hashOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');
    expect(hashOf(makePackage(other, join(directory, 'second')))).toBe(hashOf(file));
  }, 600_000);

  it.skipIf(withoutLintian !== undefined)(
    `has no fault that lintian finds${skipNote(withoutLintian)}`,
    () => {
      const { stdout, status } = spawnSync('lintian', ['--fail-on', 'error,warning', '--allow-root', file], { encoding: 'utf8' });
      expect(stdout).toBe('');
      expect(status).toBe(0);
    },
    600_000,
  );

  it('names every npm package that it contains in its bill of materials, with all that they need', () => {
    const bom = Bom.parse(JSON.parse(readFileSync(join(content, 'usr/share/doc/signetd/sbom.cdx.json'), 'utf8')));
    const named = new Set(bom.components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`)));
    const modules = join(content, 'usr/lib/signetd/node_modules');
    const contained = readdirSync(modules).flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
    );
    expect(contained.filter((name) => !named.has(name))).toEqual([]);
    const references = new Set(bom.components.map((component) => component['bom-ref']));
    expect(bom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((reference) => !references.has(reference))).toEqual([]);
  });

  it('contains nothing for developers, and no development dependency', () => {
    const manifest = z
      .object({ devDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync('package.json', 'utf8')));
    const program = join(content, 'usr/lib/signetd');
    const files = readdirSync(program, { recursive: true, encoding: 'utf8' });
    expect(files.filter((path) => /\.(?:ts|map|md|c|cpp|o)$|\/quickstart(?:\/|$)/.test(path))).toEqual([]);
    expect(Object.keys(manifest.devDependencies).filter((name) => files.includes(`node_modules/${name}`))).toEqual([]);
  });

  it('loads every module of the service with its own Node', () => {
    const program = join(content, 'usr/lib/signetd');
    const entries = ['main.js', 'token-host.js', 'cli.js'];
    // Neither programs, nor threads, nor the page for browsers.
    const startsThread = /(?:thread|module-process|database-thread)\.js$/;
    const modules = readdirSync(join(program, 'dist'), { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.js') && !entries.includes(path) && !startsThread.test(path) && !path.startsWith('console/page/'),
    );
    writeFileSync(
      join(directory, 'load.mjs'),
      modules.map((path) => `await import(${JSON.stringify(join(program, 'dist', path))});`).join('\n'),
    );
    const run = spawnSync(join(program, 'runtime/node'), ['--disable-sigusr1', join(directory, 'load.mjs')], { encoding: 'utf8' });
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
  });

  it('has every file that its documents link to', () => {
    const place = join(content, 'usr/share/doc/signetd');
    const pages = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'index.md', 'setup.md']));
    const links = pages
      .flatMap((page) =>
        Array.from(readFileSync(join(place, page), 'utf8').matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g), ([, target = '']) => ({ page, target })),
      )
      .filter(({ target }) => !/^https?:/.test(target));
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter(({ page, target }) => !existsSync(join(place, dirname(page), target)))).toEqual([]);
  });

  it('has an example of a configuration that the service accepts', () => {
    const text = readFileSync(join(content, 'usr/share/doc/signetd/examples/signetd.yaml'), 'utf8');
    expect(Config.safeParse(parse(text)).error?.issues).toBeUndefined();
  });

  it('has a manual page of each command and of each section of the configuration', () => {
    const page = (path: string): string => execFileSync('zcat', [join(content, 'usr/share/man', path)], { encoding: 'utf8' });
    for (const command of ['client add', 'token init', 'audit verify'])
      expect(page('man1/signetctl.1.gz')).toContain(`.SS \\fB${command}\\fR`);
    for (const section of Object.keys(Config.shape)) expect(page('man5/signetd.yaml.5.gz')).toContain(`.SS \\fB${section}\\fR`);
  });

  it('completes commands, options and files in bash', () => {
    const completion = join(content, 'usr/share/bash-completion/completions/signetctl');
    const folder = join(directory, 'typed');
    mkdirSync(folder);
    writeFileSync(join(folder, 'client.pem'), '');
    const completed = (...words: readonly string[]): string[] => {
      const script = `. "$0"; compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _signetctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', script, completion, 'signetctl', ...words], { cwd: folder, encoding: 'utf8' })
        .trim()
        .split('\n');
    };
    expect(completed('au')).toEqual(['audit']);
    expect(completed('--json', 'token', 'sl')).toEqual(['slots']);
    expect(completed('client', 'add', '--ten')).toEqual(['--tenant']);
    expect(completed('--config', 'client', 'client', 'revo')).toEqual(['revoke']);
    expect(completed('client', 'add', '--certificate', 'cl')).toEqual(['client.pem']);
    expect(completed('client', 'add', '--name', 'cl')).toEqual(['']);
  });
});
