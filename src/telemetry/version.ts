import { readFileSync } from 'node:fs';

/** The version of this program, as its package says. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const description: unknown = JSON.parse(text);
  const found = typeof description === 'object' && description !== null && 'version' in description ? description.version : undefined;
  return typeof found === 'string' ? found : 'unknown';
}
