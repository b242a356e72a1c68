import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureLoad, type Load } from './native-tools.ts';
import type { Client, Quickstart } from './quickstart-description.ts';
import { signetdPids } from './signetd-processes.ts';

/** A request that is sent again and again. */
export interface Work {
  readonly name: string;
  readonly client: Client;
  readonly path: string;
  readonly body: object;
  /** Text in an expected answer. */
  readonly expected: string;
}

/** A service, and a directory for scratch files. */
export interface Place {
  readonly quickstart: Quickstart;
  readonly scratch: string;
  /** The directory of the service; otherwise it is the quickstart's. */
  readonly service?: string;
}

/** Sends a request as fast as answers arrive. @throws {Error} if an answer is not the expected one */
export async function loadOf(
  { quickstart: { baseUrl, caCertificate }, scratch, service }: Place,
  { name, client, path, body, expected }: Work,
  length: { readonly connections: number; readonly seconds: number; readonly warmup: number },
): Promise<Load> {
  const bodyFile = join(scratch, 'request.json');
  writeFileSync(bodyFile, JSON.stringify(body), { mode: 0o600 });
  const target = { url: new URL(path, baseUrl), client, caCertificate, bodyFile, expected, pids: signetdPids(service) };
  const load = await measureLoad(target, length);
  if (load.errors > 0) throw new Error(`${name}: ${load.errors} errors; the first: ${load.firstError}`);
  return load;
}
