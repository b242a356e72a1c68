import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const Packages = z.record(z.string(), z.string());
const manifest = z
  .object({ dependencies: Packages, optionalDependencies: Packages, devDependencies: Packages })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));
const locked = z
  .object({ packages: z.record(z.string(), z.object({ license: z.string().optional() })) })
  .parse(JSON.parse(readFileSync('package-lock.json', 'utf8')));
const page = readFileSync('docs/dependencies.md', 'utf8');

interface Row {
  readonly name: string;
  readonly cells: readonly string[];
}

/** The rows of the first table under a heading; each begins with a name in backticks. */
function rowsUnder(heading: string): Row[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return section.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    const name = /^`([^`]+)`$/.exec(cells[1] ?? '')?.[1];
    return name === undefined ? [] : [{ name, cells: cells.slice(2, -1) }];
  });
}

/** The licence that the installed package states. A package for another processor is not installed: the lock file has its licence. */
function licenceOf(name: string): string | undefined {
  const path = `node_modules/${name}/package.json`;
  if (!existsSync(path)) return locked.packages[`node_modules/${name}`]?.license;
  return z.object({ license: z.string() }).parse(JSON.parse(readFileSync(path, 'utf8'))).license;
}

const sources = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && existsSync(path))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }));

/** A room of `src/`, another folder at the top, or a file outside of them. */
function placeOf(path: string): string {
  return /^(?:src\/[^/]+\/|(?!src\/)[^/]+\/|.*)/.exec(path)?.[0] ?? path;
}

/** Where the sources import a package. */
function placesOf(name: string): string[] {
  const imports = new RegExp(String.raw`(?:\bfrom |^import |\bimport\(|\bcreateRequire\(import\.meta\.url\)\()'${name}(?:/[^']*)?'`, 'm');
  return [...new Set(sources.filter(({ text }) => imports.test(text)).map(({ path }) => placeOf(path)))].toSorted();
}

const runtime = rowsUnder('At run time');
const development = rowsUnder('In tests and tools only');
const installed = [...runtime, ...development];

describe('docs/dependencies.md', () => {
  it('has a row for every package of package.json, and for no other', () => {
    const names = (rows: readonly Row[]): string[] => rows.map(({ name }) => name).toSorted();
    expect(names(runtime)).toEqual(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).toSorted());
    expect(names(development)).toEqual(Object.keys(manifest.devDependencies).toSorted());
  });

  it.each(installed)('states the licence of $name as the package does', ({ name, cells }) => {
    expect(cells[0]).toBe(licenceOf(name));
  });

  it.each(installed)('says where $name is imported', ({ name, cells }) => {
    const stated = Array.from((cells[1] ?? '').matchAll(/`([^`]+(?:\/|\.ts))`/g), (match) => match[1] ?? '');
    const production = placesOf(name).filter((place) => place.startsWith('src/'));
    const places = development.some((row) => row.name === name) ? placesOf(name) : production;
    expect(stated.toSorted()).toEqual(stated.includes('src/') && production.length > 4 ? ['src/'] : places);
  });

  it.each(installed)('says of $name what it is trusted with, and why it was chosen', ({ cells }) => {
    expect(cells).toHaveLength(4);
    expect(cells.filter((cell) => cell === '')).toEqual([]);
  });

  it.each(development)('$name is in no source that runs in production', ({ name }) => {
    expect(placesOf(name).filter((place) => place.startsWith('src/'))).toEqual([]);
  });

  it('has a row for every Debian package of the bootstrap, and for no other', () => {
    const wanted = readFileSync('packaging/debian-packages.txt', 'utf8').split('\n');
    const names = wanted.filter((line) => line !== '' && !line.startsWith('#'));
    expect(
      rowsUnder('System packages')
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(names.toSorted());
  });
});
