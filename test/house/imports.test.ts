import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The rooms of `src/`, from the top down. A file imports from its own room and from those below it, never from above. */
const rooms: readonly (readonly string[])[] = [
  ['main.ts', 'token-host.ts', 'cli.ts'],
  ['quickstart/'],
  ['daemon/'],
  ['console/'],
  ['cli/'],
  ['backup/'],
  ['admin/'],
  ['http/'],
  ['operations/'],
  ['idempotency/'],
  ['signatures/'],
  ['fields/'],
  ['twoddoc/'],
  ['timestamp/'],
  ['revocation/'],
  ['keys/'],
  ['certificates/'],
  ['cms/'],
  ['xmldsig/'],
  ['clients/'],
  ['messages/'],
  ['sealed-parts/'],
  ['documents/'],
  ['audit/'],
  ['x509/'],
  ['verification/'],
  ['webcrypto/'],
  ['token/'],
  ['state/'],
  ['pdf/'],
  ['xml/'],
  ['zip/'],
  ['tar/'],
  ['asn1/'],
  ['image/'],
  ['typefaces/'],
  ['outgoing/'],
  ['threads/'],
  ['config/'],
  ['service/'],
  ['telemetry/'],
  ['faults.ts'],
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

/** Circles of files, each as one line. */
function circles(sources: Sources): string[] {
  const importsOf = (path: string): string[] =>
    specifiersOf(sources.get(path) ?? '')
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => posix.join(posix.dirname(path), specifier));
  const found: string[] = [];
  const done = new Set<string>();
  const follow = (path: string, above: readonly string[]): void => {
    if (above.includes(path)) found.push([...above.slice(above.indexOf(path)), path].join(' → '));
    if (done.has(path)) return;
    done.add(path);
    for (const target of importsOf(path)) follow(target, [...above, path]);
  };
  for (const path of sources.keys()) follow(path, []);
  return found;
}

test('no files import each other in a circle', () => {
  expect(circles(readSources())).toEqual([]);
});

test('a circle of files is found', () => {
  const sources = new Map([
    ['keys/a.ts', "import { b } from './b.ts';\n"],
    ['keys/b.ts', "import { c } from '../token/c.ts';\n"],
    ['token/c.ts', "import type { A } from '../keys/a.ts';\n"],
  ]);
  expect(circles(sources)).toEqual(['keys/a.ts → keys/b.ts → token/c.ts → keys/a.ts']);
});

/** Folders of `signatures/` that hold no format. */
const sharedFolders = ['cades', 'levels', 'request', 'sessions'];
/** The only files of `signatures/` that know the formats: their table, and the schema of a request. */
const knowFormats = ['signatures/formats.ts', 'signatures/request/parameters.ts'];

test('formats stand side by side: only their table and the schema of a request name them', () => {
  const formatOf = (path: string): string | undefined => {
    const [room, folder, file] = path.split('/');
    return room === 'signatures' && file !== undefined && folder !== undefined && !sharedFolders.includes(folder) ? folder : undefined;
  };
  const arrows = [...readSources()].flatMap(([path, source]) =>
    specifiersOf(source)
      .filter((specifier) => path.startsWith('signatures/') && !knowFormats.includes(path) && specifier.startsWith('.'))
      .map((specifier) => posix.join(posix.dirname(path), specifier))
      .filter((target) => formatOf(target) !== undefined && formatOf(target) !== formatOf(path))
      .map((target) => `${path} → ${target}`),
  );
  expect(arrows).toEqual([]);
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

/** All that a module loads, by its imports and by the threads that it starts. */
function loadedBy(sources: Sources, entry: string): ReadonlySet<string> {
  const loaded = new Set([entry]);
  for (const path of loaded) {
    const source = sources.get(path) ?? '';
    const threads = Array.from(source.matchAll(/moduleFile\('([^']+)'/g), (match) => `${match[1]}.ts`);
    for (const specifier of [...specifiersOf(source.replace(/^import type [^;]*;/gm, '')), ...threads])
      if (specifier.startsWith('.')) loaded.add(posix.join(posix.dirname(path), specifier));
  }
  return loaded;
}

test('the token host loads none of the parsers of documents, and nothing that speaks to the network', () => {
  const loaded = [...loadedBy(readSources(), 'token-host.ts')];
  for (const path of ['token/host/thread.ts', 'token/host/purposes/certificate.ts']) expect(loaded).toContain(path);
  const allowed = ['token-host.ts', 'token/', 'config/', 'service/', 'telemetry/', 'asn1/'];
  expect(loaded.filter((path) => !allowed.some((room) => path.startsWith(room)))).toEqual([]);
});

test('the token host calls no function of PKCS #11 that lets a key out or reads what it encrypts', () => {
  const calls = [...readSources()].flatMap(([path, source]) =>
    Array.from(source.matchAll(/\bC_(?:WrapKey|UnwrapKey|DeriveKey|Decrypt\w*|Encrypt\w*|CopyObject)\b/g), ([name]) => `${path}: ${name}`),
  );
  expect(calls).toEqual([]);
});

test('values are verified by the native module alone, but where Node makes the value or the key itself', () => {
  const others = [...readSources()]
    .filter(([, source]) => /\b(?:createVerify|publicDecrypt)\b|import \{[^}]*\bverify\b[^}]*\} from 'node:crypto'/.test(source))
    .map(([path]) => path);
  // What a new token can do, tried by the host.
  expect(others).toEqual(['token/host/probe-trials.ts', 'token/host/token-key-trial.ts']);
});

test("a caller's key, and that of an identity, sign only with the secrets of a reserved attempt", () => {
  const signing = [...readSources()].flatMap(([path, text]) => (/\.sign(?:WithProof|AsIdentity)\(/.test(text) ? [path] : []));
  // The last makes the request for the certificate of a new identity, with the password that was just drawn.
  const allowed = ['audit/announced-uses.ts', 'audit/use-recorder.ts', 'keys/reserved.ts', 'cli/twoddoc/identity-add.ts'];
  expect(signing.filter((path) => !path.startsWith('token/')).toSorted()).toEqual(allowed.toSorted());
});
