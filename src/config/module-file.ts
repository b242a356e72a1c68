import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether this code runs from its sources, as in tests, and not from what the build made of them. */
export const runsFromSources = import.meta.url.endsWith('.ts');

/** The file of a module that is started as a thread or a process: `specifier` is relative to `base`, without its ending. */
export function moduleFile(specifier: string, base: string): URL {
  return new URL(`${specifier}.${runsFromSources ? 'ts' : 'js'}`, pathToFileURL(fileURLToPath(base)));
}
