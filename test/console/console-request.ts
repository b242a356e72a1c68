import { request, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { rememberSecrets } from '../support/suite-logs.ts';
import { signetctlHere } from '../support/signetctl-here.ts';

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Asks the console as a program that chooses its own headers. */
export async function askConsole(
  opsUrl: string,
  path: string,
  { method = 'GET', headers = {} }: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<ConsoleAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${opsUrl}/console${path}`, { method, headers, agent: false }, (response) => {
      text(response).then((body) => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      }, reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

const Link = z.object({ url: z.string(), endsAt: z.string() });

/** Gets a link as an operator does. */
export async function consoleLink(configFile: string): Promise<string> {
  const { stdout } = await signetctlHere(['--config', configFile, '--json', 'console']);
  const { url } = Link.parse(JSON.parse(stdout));
  rememberSecrets(JSON.stringify({ token: codeIn(url) }));
  return url;
}

export function codeIn(url: string): string {
  return new URL(url).hash.replace('#code=', '');
}

/** Headers of a signed-in operator. */
export async function signedIn(
  opsUrl: string,
  configFile: string,
): Promise<{ readonly Cookie: string; readonly 'X-Console-Token': string }> {
  const answer = await askConsole(opsUrl, '/api/sign-in', {
    method: 'POST',
    headers: { 'X-Console-Code': codeIn(await consoleLink(configFile)) },
  });
  const { token } = z.object({ token: z.string() }).parse(JSON.parse(answer.body));
  const cookie = (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  rememberSecrets(JSON.stringify({ token }));
  rememberSecrets(JSON.stringify({ token: cookie.split('=')[1] }));
  return { Cookie: cookie, 'X-Console-Token': token };
}
