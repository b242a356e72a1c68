import { describe, expect, it } from 'vitest';
import { mutantsOf } from './mutations.ts';

const changes = (source: string): string[] => mutantsOf('src/x.ts', source).map(({ change }) => change);
/** The source with each of its mutants. */
const mutated = (source: string): string[] =>
  mutantsOf('src/x.ts', source).map(({ start, end, replacement }) => source.slice(0, start) + replacement + source.slice(end));

describe('mutants of a source file', () => {
  it.each([
    ['if (a) b();', ['if (true) b();', 'if (false) b();', 'if (a) ;']],
    ['x = a < b;', [';', 'x = a <= b;']],
    ['x = a === b;', [';', 'x = a !== b;']],
    ['x = a && b;', [';', 'x = a || b;', 'x = (a);', 'x = (b);']],
    ['x = a ?? b;', [';', 'x = (a);']],
    ['x = a?.b;', [';', 'x = a.b;']],
    ['x = a?.[0];', [';', 'x = a[0];', 'x = a?.[1];']],
    ['x = !a;', [';', 'x = a;']],
    ['x = [a, b];', [';', 'x = [b];', 'x = [a];']],
    ['x = [...a];', [';', 'x = [];']],
    ['x = { ...a };', [';', 'x = { ...{} };']],
    ['x = a.some(b);', [';', 'x = a.every(b);']],
    ['x = a.filter(b);', [';', 'x = a;']],
    ['await a();', [';']],
    ['x = true;', [';', 'x = false;']],
    ['x = 7;', [';', 'x = 8;']],
    ["x = 'a';", [';', "x = '';"]],
    ['throw a;', [';']],
  ])('%s', (source, expected) => {
    expect(mutated(source).toSorted()).toEqual(expected.toSorted());
  });

  it('do not touch messages, types, and names of modules and members', () => {
    expect(changes("throw new Error('it went wrong');")).toEqual(["throw new Error('it went wrong'); → ;"]);
    for (const source of [
      "import { a } from './a.ts';",
      "export { a } from './a.ts';",
      "type A = 'a' | 'b';",
      "interface A { readonly a: 'a' }",
      "log.warn('something', { a: 1 });",
      "const a = b as 'c';",
    ])
      expect(changes(source)).toEqual([]);
  });

  it('are recognised if their line has moved, and distinguished if it occurs twice', () => {
    const ids = (source: string): string[] => mutantsOf('src/x.ts', source).map(({ id }) => id);
    expect(ids('\n\n  x = a < b;')).toEqual(ids('x = a < b;'));
    expect(new Set(ids('x = a < b;\nx = a < b;')).size).toBe(4);
    expect(ids('x = a < b;')).not.toEqual(ids('x = a < c;'));
  });
});
