import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './quickstart-description.ts';

const libraries = {
  ceiling: ['-ldl', '-lpthread'],
  load: ['-lssl', '-lcrypto'],
  'plain-load': [],
} as const;

/**
 * Returns the path of a C program of this directory, recompiled if its source is newer.
 * @throws {Error} if gcc fails
 */
export function compiled(name: keyof typeof libraries): string {
  const source = join(projectRoot, 'bench', `${name}.c`);
  const directory = join(projectRoot, 'var', 'bench');
  const program = join(directory, name);
  const built = statSync(program, { throwIfNoEntry: false });
  if (built !== undefined && built.mtimeMs >= statSync(source).mtimeMs) return program;
  mkdirSync(directory, { recursive: true });
  // Renamed when complete, so that an interrupted compilation leaves no broken program behind.
  const unfinished = `${program}.${process.pid}`;
  execFileSync('gcc', ['-O2', '-Wall', '-Wextra', '-o', unfinished, source, ...libraries[name]], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  renameSync(unfinished, program);
  return program;
}
