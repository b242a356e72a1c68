import { fileURLToPath, pathToFileURL } from 'node:url';

/** Whether this code runs from its sources, as in tests, rather than from the build output. */
export const runsFromSources = import.meta.url.endsWith('.ts');

/**
 * Returns the file of a module to be started as a thread or process. `specifier` is relative to
 * `base`, without extension.
 */
export function moduleFile(specifier: string, base: string): URL {
  return new URL(`${specifier}.${runsFromSources ? 'ts' : 'js'}`, pathToFileURL(fileURLToPath(base)));
}
