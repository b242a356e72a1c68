import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { command } from './command.ts';
import type { Description } from './description.ts';
import { layout } from './layout.ts';

/** Returns the path of a file of the first signatures. */
export const file = (name: string): string => join(layout.first, name);

/**
 * Sends a request to a path of the API as a caller would: over mTLS, with curl. The body is in a
 * file, since it has the key's password, which must not be on a command line.
 * @throws {Error} with any answer that the schema does not describe
 */
export async function call<T>(schema: z.ZodType<T>, description: Description, path: string, requestFile: string, body: object): Promise<T> {
  writeFileSync(file(requestFile), JSON.stringify(body), { mode: 0o600 });
  const said = await command('curl', ['--write-out', '\n%{http_code}', ...curlArguments(description, path, requestFile)]);
  const end = said.lastIndexOf('\n');
  const text = said.slice(0, end);
  const answer = schema.safeParse(jsonIn(text));
  if (answer.success) return answer.data;
  throw new Error(`${path} was answered with HTTP ${said.slice(end + 1)}: ${text}`);
}

/** Returns the command that sends such a request, for a shell. */
export function curlCommand(description: Description, path: string, requestFile: string): string {
  return `curl ${curlArguments(description, path, requestFile).map(shellWord).join(' ')}`;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function curlArguments(description: Description, path: string, requestFile: string): string[] {
  return [
    ...['--silent', '--show-error', '--cacert', description.caCertificate],
    ...['--cert', description.clientCertificate, '--key', description.clientKey],
    ...['--header', 'Content-Type: application/json', '--data-binary', `@${file(requestFile)}`],
    `${description.baseUrl}${path}`,
  ];
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
