import { readFileSync } from 'node:fs';

/** Read at the start: an upgrade replaces the file, and this process stays what it is. */
const own = versionOnDisk();

/** Returns the version of the program that this process runs. */
export function version(): string {
  return own;
}

function versionOnDisk(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const description: unknown = JSON.parse(text);
  const found = typeof description === 'object' && description !== null && 'version' in description ? description.version : undefined;
  return typeof found === 'string' ? found : 'unknown';
}
