import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The rooms of `src/`, from the top down. A file imports from its own room and from those below it, never from above. */
const rooms: readonly (readonly string[])[] = [
  ['main.ts', 'token-host.ts', 'cli.ts'],
  ['quickstart/'],
  ['daemon/'],
  ['cli/'],
  ['admin/'],
  ['http/'],
  ['operations/'],
  ['idempotency/'],
  ['signatures/'],
  ['twoddoc/'],
  ['timestamp/'],
  ['revocation/'],
  ['keys/'],
  ['cms/'],
  ['certificates/'],
  ['clients/'],
  ['messages/'],
  ['documents/'],
  ['audit/'],
  ['verification/'],
  ['token/'],
  ['state/'],
  ['pdf/'],
  ['xml/'],
  ['asn1/'],
  ['image/'],
  ['outgoing/'],
  ['threads/'],
  ['config/'],
  ['service/'],
  ['telemetry/'],
  ['result-codes.ts'],
];

type Sources = ReadonlyMap<string, string>;

/** Path in `src/` to content. */
function readSources(): Sources {
  const root = fileURLToPath(new URL('../../src/', import.meta.url));
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => /\.[cm]?[jt]s$/.test(path));
  return new Map(paths.map((path) => [path, readFileSync(root + path, 'utf8')]));
}

/** Index of the room that a path in `src/` belongs to, -1 if there is none. */
function roomOf(path: string): number {
  return rooms.findIndex((members) => members.some((member) => (member.endsWith('/') ? path.startsWith(member) : path === member)));
}

/** What a module names in `import … from`, `export … from`, bare imports, dynamic imports and import types. */
function specifiersOf(source: string): string[] {
  // Statements begin a line (the formatter sees to it), which keeps comments and strings out.
  const statement = /^(?:import|export)\b(?:(?:\s+type)?[\s\w$*{},]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm;
  const call = /\bimport\s*\(\s*(['"`])([^'"`\n]+)\1/g;
  const withoutLineComments = source.replace(/^\s*(?:\/\/|\*).*$/gm, '');
  return [statement, call].flatMap((pattern) => Array.from(withoutLineComments.matchAll(pattern), (match) => match[2] ?? ''));
}

/** One line for each import that the order of the rooms forbids. */
function forbiddenImports(sources: Sources): string[] {
  return [...sources].flatMap(([path, source]) =>
    specifiersOf(source)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => posix.join(posix.dirname(path), specifier))
      .filter((target) => roomOf(target) < roomOf(path))
      .map((target) => `${path} must not import ${target}${roomOf(target) < 0 ? ': it is in no room' : ''}`),
  );
}

test('every source file belongs to a room', () => {
  expect([...readSources().keys()].filter((path) => roomOf(path) < 0)).toEqual([]);
});

test('no file imports from a room above its own', () => {
  expect(forbiddenImports(readSources())).toEqual([]);
});

test.each([
  ['import', "import { listen } from '../http/listen.ts';"],
  ['import of a type', "import type { Listener } from '../http/listen.ts';"],
  ['import over several lines', "import {\n  listen,\n  type Listener,\n} from '../http/listen.ts';"],
  ['import of everything', "import * as http from '../http/listen.ts';"],
  ['bare import', "import '../http/listen.ts';"],
  ['re-export', "export { listen } from '../http/listen.ts';"],
  ['re-export of everything', "export * from '../http/listen.ts';"],
  ['dynamic import', "const http = await import('../http/listen.ts');"],
  ['import type expression', "let listener: import('../http/listen.ts').Listener;"],
])('finds an upward %s', (_form, statement) => {
  const source = `import { z } from 'zod';\nimport { open } from './open.ts';\n\n${statement}\n`;
  expect(forbiddenImports(new Map([['keys/activation.ts', source]]))).toEqual(['keys/activation.ts must not import http/listen.ts']);
});

test.each([
  ['from its own room', "import { open } from './open.ts';"],
  ['from a room below', "import { Refusal } from '../result-codes.ts';"],
  ['only in a comment', "// import { listen } from '../http/listen.ts';\n/**\n * import('../http/listen.ts')\n */"],
  ['only in its strings', "export const text = 'import x from ../http/listen.ts';"],
])('leaves alone what is imported %s', (_form, statement) => {
  expect(forbiddenImports(new Map([['keys/activation.ts', `${statement}\n`]]))).toEqual([]);
});

test('an import from outside the rooms is found', () => {
  const sources = new Map([['keys/activation.ts', "import { stub } from '../../test/stub.ts';\n"]]);
  expect(forbiddenImports(sources)).toEqual(['keys/activation.ts must not import ../test/stub.ts: it is in no room']);
});
