import { readFileSync } from 'node:fs';

/** Returns the version of this program from package.json. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const description: unknown = JSON.parse(text);
  const found = typeof description === 'object' && description !== null && 'version' in description ? description.version : undefined;
  return typeof found === 'string' ? found : 'unknown';
}
