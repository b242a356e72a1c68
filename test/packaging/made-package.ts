import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Compressed in the quickest way: most of the time would go there. */
const program = ['--disable-warning=ExperimentalWarning', 'packaging/package.ts', '--compression-level', '0', '--output'];

/** Makes the package of a working copy in a directory, and returns its path. */
export function makePackage(project: string, output: string): string {
  return execFileSync(process.execPath, ['--disable-sigusr1', ...program, output], { cwd: project, encoding: 'utf8' }).trim();
}

/** Returns the path of this build's package. A run of tests makes it once: other processes wait until it is there. */
export function packageOfThisBuild(): string {
  const output = join(inject('quickstartDirectory'), 'package');
  mkdirSync(output, { recursive: true });
  const once = 'set -e; [ -e "$0/path" ] || { "$@" >"$0/path.new"; mv "$0/path.new" "$0/path"; }; cat "$0/path"';
  const make = [process.execPath, '--disable-sigusr1', ...program, output];
  return execFileSync('flock', [join(output, 'lock'), 'sh', '-c', once, output, ...make], { encoding: 'utf8' }).trim();
}

/** Writes to `output` what differs from a package by its version only: that of the package, and what the program says of itself. */
export function writeWithVersion(file: string, version: string, output: string): void {
  const content = mkdtempSync(join(tmpdir(), 'signetd-repacked-'));
  try {
    execFileSync('dpkg-deb', ['--raw-extract', file, content]);
    const control = join(content, 'DEBIAN/control');
    writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${version}`));
    const described = join(content, 'usr/lib/signetd/package.json');
    const text = readFileSync(described, 'utf8');
    writeFileSync(described, text.replace(/"version": "[^"]+"/, `"version": "${version.replace(/-\d+$/, '')}"`));
    execFileSync('dpkg-deb', ['--root-owner-group', '-Znone', '--build', content, output], { stdio: 'ignore' });
  } finally {
    rmSync(content, { recursive: true });
  }
}
