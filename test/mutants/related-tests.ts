import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';

/** What starts the quickstart or a daemon: too slow to be asked of each mutant, and the daemon is the one that was built. */
const serviceSupport = ['test/support/quickstart-environment.ts', 'test/support/daemon-process.ts'];
const asksForService = "inject('quickstartDirectory')";
/** Modules that are started as threads or processes. */
const startedModule = /moduleFile\('([^']+)'/g;
/** Programs that a test runs as they were built. */
const builtProgram = /\bdist\/([\w/-]+)\.js\b/g;
/** They look at the sources, or at what was built of them: no rule of the product. */
const aboutSources = /^test\/(?:house|docs|mutants)\//;

/** A test file, and how many imports lie between it and a source file. */
export interface RelatedTest {
  readonly path: string;
  readonly distance: number;
}

/** Who imports whom, in `src/` and `test/`. */
export class ImportGraph {
  readonly #root: string;
  readonly #imports = new Map<string, readonly string[]>();
  readonly #service = new Set(serviceSupport);

  constructor(root: string) {
    this.#root = root;
    for (const top of ['src', 'test']) {
      for (const name of readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })) {
        if (name.endsWith('.ts')) this.#imports.set(join(top, name), this.#read(join(top, name)));
      }
    }
  }

  /**
   * The test files that import a source file, directly or not, or run it: those that lie where it
   * does first, from its own test over those of its folder to those of its room, then the nearest.
   */
  testsOf(source: string): RelatedTest[] {
    const shared = (path: string): number => sharedPlaces(path, source);
    const tests: RelatedTest[] = [];
    for (const path of this.#imports.keys()) {
      if (!path.endsWith('.test.ts') || aboutSources.test(path)) continue;
      const distances = this.#distancesFrom(path);
      const distance = distances.get(source);
      if (distance === undefined || [...this.#service].some((support) => distances.has(support))) continue;
      tests.push({ path, distance });
    }
    return tests.toSorted(
      (one, other) => shared(other.path) - shared(one.path) || one.distance - other.distance || (one.path < other.path ? -1 : 1),
    );
  }

  #distancesFrom(path: string): ReadonlyMap<string, number> {
    const distances = new Map([[path, 0]]);
    // A map is walked in the order of insertion, what is added on the way included.
    for (const [at, distance] of distances) {
      for (const imported of this.#imports.get(at) ?? []) if (!distances.has(imported)) distances.set(imported, distance + 1);
    }
    return distances;
  }

  #read(path: string): string[] {
    const source = readFileSync(join(this.#root, path), 'utf8');
    if (source.includes(asksForService)) this.#service.add(path);
    const { staticImports, staticExports } = parseSync(path, source).module;
    const specifiers = [
      ...staticImports
        .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
        .map(({ moduleRequest }) => moduleRequest.value),
      ...staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? [])),
      ...Array.from(source.matchAll(startedModule), ([, specifier = '']) => `${specifier}.ts`),
    ];
    const built = Array.from(source.matchAll(builtProgram), ([, program = '']) => join('src', `${program}.ts`));
    return [
      ...specifiers.filter((specifier) => specifier.startsWith('.')).map((specifier) => join(dirname(path), specifier)),
      ...(path.startsWith('test/') ? built : []),
    ].filter((imported) => existsSync(join(this.#root, imported)));
  }
}

/** How many folders in `test/` and in `src/` two paths have in common, from the room down; the name of a test counts as well. */
function sharedPlaces(test: string, source: string): number {
  const [one, other] = [placesOf(test), placesOf(source)];
  const end = one.findIndex((place, index) => place !== other[index]);
  return end < 0 ? one.length : end;
}

function placesOf(path: string): string[] {
  return path
    .replace(/(?:\.test)?\.ts$/, '')
    .split('/')
    .slice(1);
}
