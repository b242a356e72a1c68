import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { skipNote } from '../support/skip-note.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** All that is compiled here, from our sources and from those of an npm package. */
const modules = [...globSync('dist/*.{node,so}', { cwd: root }), 'node_modules/pkcs11js/build/Release/pkcs11.node'];

const otherMachine = process.arch === 'x64' ? undefined : 'the marks of Intel CET are those of x86-64';

const readelf = (...args: readonly string[]): string => execFileSync('readelf', ['--wide', ...args], { cwd: root, encoding: 'utf8' });

test('all native modules are looked at', () => {
  expect(modules.map((path) => path.replace(/^.*\//, '')).toSorted()).toEqual([
    'isolate-module.so',
    'peer-certificates.node',
    'pin.node',
    'pkcs11.node',
    'prove-and-sign.node',
    'service-manager.node',
    'verify-value.node',
  ]);
});

describe.each(modules)('%s', (module) => {
  test('ends the process if its stack or a buffer is overwritten', () => {
    // The isolation has no array on the stack, which only then gets a canary.
    const check = module.endsWith('isolate-module.so') ? /UND __fprintf_chk\b/ : /UND __stack_chk_fail\b/;
    expect(readelf('--dyn-syms', module)).toMatch(check);
  });

  test('has no table that can be written after loading, and no executable stack', () => {
    expect(readelf('--dynamic', module)).toMatch(/BIND_NOW|\bNOW\b/);
    const segments = readelf('--segments', module);
    expect(segments).toContain('GNU_RELRO');
    expect(segments).toMatch(/GNU_STACK .* RW {2}0x/);
    expect(segments).not.toMatch(/LOAD .* RWE /);
  });

  test.skipIf(otherMachine !== undefined)(`branches and returns only to where the compiler meant${skipNote(otherMachine)}`, () => {
    expect(readelf('--notes', module)).toMatch(/x86 feature:.*\bSHSTK\b/);
    // A function begins with the mark of a place to which a branch may lead.
    const entry = /^[0-9a-f]+ <\w+>:\n.*\bendbr64\b/m;
    expect(
      execFileSync('objdump', ['--disassemble', '--section=.text', module], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }),
    ).toMatch(entry);
  });
});

test.each(['pin.node', 'prove-and-sign.node', 'isolate-module.so', 'pkcs11.node'])('%s calls checked functions on buffers', (name) => {
  const module = modules.find((path) => path.endsWith(`/${name}`)) ?? '';
  expect(readelf('--dyn-syms', module)).toMatch(/UND __\w+(?<!stack)_chk\b/);
});
