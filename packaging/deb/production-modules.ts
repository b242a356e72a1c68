import { cpSync, existsSync, lstatSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';

const Entry = z.object({
  version: z.string().optional(),
  license: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  dev: z.boolean().default(false),
  devOptional: z.boolean().default(false),
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
  peerDependencies: z.record(z.string(), z.string()).default({}),
});
const Lock = z.object({ packages: z.record(z.string(), Entry) });
type Lock = z.output<typeof Lock>;

/** An npm package that the service needs at run time. */
export interface ProductionModule {
  /** Path in the project, such as `node_modules/pg`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** SPDX expression, as the package states it. */
  readonly licence: string;
  /** Subresource integrity of the package's archive, from the lock file. */
  readonly integrity: string | undefined;
  /** Whether signetd itself depends on it. */
  readonly isDirect: boolean;
  /** Paths of the packages that it needs. */
  readonly needs: readonly string[];
}

/** Packages that only the quickstart imports, which is not in the package. */
const quickstartOnly = ['smtp-server', 'postal-mime'];

/**
 * Returns the packages of the lock file that are reachable from signetd's own dependencies and are
 * installed for this machine, sorted by path; the Node runtime is among them.
 */
export function productionModules(project: string): readonly ProductionModule[] {
  const lock = Lock.parse(JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')));
  const found = new Map<string, ProductionModule>();
  const own = neededBy(lock, '');
  const visit = (path: string): void => {
    const entry = lock.packages[path];
    if (entry === undefined || found.has(path) || entry.dev || !existsSync(join(project, path))) return;
    const needs = neededBy(lock, path).filter((needed) => existsSync(join(project, needed)));
    found.set(path, {
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: entry.version ?? '',
      licence: entry.license ?? 'NOASSERTION',
      integrity: entry.integrity,
      isDirect: own.includes(path),
      needs,
    });
    for (const needed of needs) visit(needed);
  };
  for (const path of own) visit(path);
  return [...found.values()].toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

/** Paths of the packages that the one at `path` needs, found as Node does: from the innermost node_modules outwards. */
function neededBy(lock: Lock, path: string): readonly string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = lock.packages[path] ?? {};
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return names.filter((name) => path !== '' || !quickstartOnly.includes(name)).flatMap((name) => placeOf(lock, path, name) ?? []);
}

function placeOf(lock: Lock, from: string, name: string): string | undefined {
  const inside = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (lock.packages[inside] !== undefined) return inside;
  if (from === '') return undefined;
  const outer = from.lastIndexOf('/node_modules/');
  return placeOf(lock, outer < 0 ? '' : from.slice(0, outer), name);
}

/** Kinds of files that are loaded at run time. */
const loaded = /(?:\.(?:js|cjs|mjs|json|node|wasm|ttf|trie)|^package\.json)$/;
/** Folders that packages bring for their own developers. */
const developersFolders = [
  'test',
  'tests',
  '__tests__',
  'benchmark',
  'benchmarks',
  'bench',
  'example',
  'examples',
  'doc',
  'docs',
  '.github',
  'typings',
];
const developersFiles =
  /(?:^\..*|(?:\.|-)min\.js|^(?:Gruntfile|gulpfile|rollup\.config|webpack\.config|karma\.conf|tsconfig.*|bower|component)\.(?:js|mjs|json))$/;

/** What else of a package is not loaded: other builds of the same code, and sources in C. */
const unused: Readonly<Record<string, RegExp>> = {
  '@expo-google-fonts/arimo': fontsBut('(?:400Regular|700Bold)(?:_Italic)?/Arimo_(?:400Regular|700Bold)(?:_Italic)?'),
  '@expo-google-fonts/cousine': fontsBut('(?:400Regular|700Bold)(?:_Italic)?/Cousine_(?:400Regular|700Bold)(?:_Italic)?'),
  '@expo-google-fonts/tinos': fontsBut('(?:400Regular|700Bold)(?:_Italic)?/Tinos_(?:400Regular|700Bold)(?:_Italic)?'),
  'bwip-js': /^(?:bin|lib|src|fonts)\/|^dist\/bwip-js(?:\.|-gen|-rn|-min)/,
  'dejavu-fonts-ttf': fontsBut('ttf/DejaVuSans(?:-Bold|-Oblique|-BoldOblique)?'),
  fontkit: /^(?:src\/|dist\/browser)/,
  pkcs11js: /^(?:src|includes)$|^build\/(?!Release(?:\/pkcs11\.node)?$)/,
  pngjs: /^browser\.js$/,
  brotli: /^build\//,
  yaml: /^bin\.mjs$/,
  '@swc/helpers': /^(?:scripts|src)\//,
};

function fontsBut(kept: string): RegExp {
  return new RegExp(String.raw`^(?!${kept}\.ttf$).*\.ttf$`);
}

/** Copies what the service loads of a package to the same path below `root`. */
export function copyModule(project: string, { path, name }: ProductionModule, root: string): void {
  const source = join(project, path);
  cpSync(source, join(root, path), {
    recursive: true,
    filter: (file) => {
      const inside = file.slice(source.length + 1);
      if (inside === '') return true;
      if (inside === 'node_modules' || unused[name]?.test(inside) === true) return false;
      if (lstatSync(file).isDirectory()) return !developersFolders.includes(basename(file)) || isLoadedFolder(name, inside);
      return loaded.test(basename(file)) && !developersFiles.test(basename(file));
    },
  });
  removeEmptyFolders(join(root, path));
}

/** `yaml` keeps a part of its parser in a folder of such a name. */
function isLoadedFolder(name: string, inside: string): boolean {
  return name === 'yaml' && inside === 'dist/doc';
}

function removeEmptyFolders(folder: string): boolean {
  const entries = readdirSync(folder, { withFileTypes: true });
  const left = entries.filter((entry) => !entry.isDirectory() || !removeEmptyFolders(join(folder, entry.name)));
  if (left.length > 0) return false;
  rmSync(folder, { recursive: true });
  return true;
}
