import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { copyModule, type ProductionModule } from './production-modules.ts';

/** Where the program is installed. */
export const programDirectory = 'usr/lib/signetd';

/** Writes `/usr/lib/signetd` (and a place to mount it): the build, the npm packages that it loads, and Node as `runtime/node`. */
export function writeProgram(project: string, root: string, modules: readonly ProductionModule[]): void {
  const program = join(root, programDirectory);
  mkdirSync(program, { recursive: true });
  // The units see the program there that they started with.
  mkdirSync(`${program}-running`);
  cpSync(join(project, 'dist'), join(program, 'dist'), { recursive: true, filter: (path) => isBuilt(path.slice(project.length + 1)) });
  cpSync(join(project, 'native-config'), join(program, 'native-config'), {
    recursive: true,
    filter: (path) => basename(path) !== 'isolation',
  });
  writeFileSync(join(program, 'package.json'), `${JSON.stringify(manifest(project), undefined, 2)}\n`);
  for (const module of modules) {
    if (!isRuntime(module)) copyModule(project, module, program);
  }
  const runtime = modules.find(isRuntime);
  if (runtime === undefined) throw new Error('the npm package with the Node runtime is not installed');
  mkdirSync(join(program, 'runtime'));
  cpSync(join(project, runtime.path, 'bin/node'), join(program, 'runtime/node'));
  chmodSync(join(program, 'runtime/node'), 0o755);
  strip(program);
}

/** The package whose only content is Node for this processor. */
export function isRuntime({ name }: ProductionModule): boolean {
  return name.startsWith('node-linux-');
}

/** Leaves out the quickstart, type declarations, and the compiler's own notes. */
function isBuilt(path: string): boolean {
  return path !== 'dist/quickstart' && !path.endsWith('.d.ts') && !path.startsWith('dist/.');
}

/** What the program itself reads of package.json. */
function manifest(project: string): object {
  const Manifest = z.object({ name: z.string(), version: z.string(), license: z.string(), type: z.string() });
  return Manifest.parse(JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')));
}

/** Removes symbols for debuggers, and the names of compilers. */
function strip(program: string): void {
  const objects = readdirSync(program, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:node|so)$/.test(path))
    .map((path) => join(program, path));
  for (const path of objects) chmodSync(path, 0o644);
  execFileSync('strip', ['--strip-unneeded', '--remove-section=.comment', ...objects, join(program, 'runtime/node')]);
}
