import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:http';
import express from 'express';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { noAudit, type Audit } from '../../src/audit/audit.ts';
import { consoleRouter, type ConsoleParts } from '../../src/console/console.ts';
import { MetricsHistory } from '../../src/console/history.ts';
import { OperatorGroup } from '../../src/console/operator-group.ts';
import { PageFiles } from '../../src/console/page-files.ts';
import { SignIns } from '../../src/console/sign-ins.ts';
import { Refusal } from '../../src/result-codes.ts';
import { recordingLog } from '../support/silent-log.ts';
import { askConsole, type ConsoleAnswer } from './console-request.ts';

export const [user, group] = [64_007, 64_001];
/** Of a key that is not there. */
export const reference = '0'.repeat(40);
const servers: Server[] = [];

export function closeConsoles(): void {
  for (const server of servers.splice(0)) server.close();
}

export interface Consoles {
  readonly url: string;
  readonly signIns: SignIns;
  readonly recorded: string[];
  readonly now: { groups: readonly number[]; ms: number; isFull: boolean };
  readonly ask: (path: string, headers?: Readonly<Record<string, string>>, method?: string) => Promise<ConsoleAnswer>;
  /** Headers of an operator who has signed in. */
  readonly signedIn: () => Promise<Readonly<Record<string, string>>>;
}

/** The console of a service of which nothing may be used but what is here, and `more` beside it or instead. */
export async function consoleWith(access: 'operate' | 'read' = 'operate', more: Readonly<Record<string, unknown>> = {}): Promise<Consoles> {
  const now: Consoles['now'] = { groups: [user, group], ms: 0, isFull: false };
  const recorded: string[] = [];
  const audit: Audit & { readonly status: { readonly writable: boolean } } = {
    ...noAudit,
    status: { writable: true },
    administer: async (entry, work) => {
      if (now.isFull) throw new Refusal('STORE_FULL');
      const { value } = await work(() => []);
      recorded.push(`${entry.command} by ${entry.uid} via ${entry.via}`);
      return value;
    },
  };
  const signIns = new SignIns(() => now.ms);
  const log = recordingLog();
  const known = {
    ...{ audit, log, config: () => ({ audit: { enabled: false, directory: '' } }), configPath: '/signetd.yaml', startedAt: new Date(0) },
    token: { ready: true },
    health: { ready: async () => Promise.resolve({}), warnings: () => ({}) },
    ...more,
  };
  const administration = new Proxy(known, {
    get(parts, name, receiver) {
      if (!(name in parts)) throw new Error(`${String(name)} is used`);
      return Reflect.get(parts, name, receiver) as unknown;
    },
  }) as unknown as ConsoleParts['administration'];
  const operatorGroup = new OperatorGroup(
    group,
    log,
    async () => Promise.resolve(now.groups),
    () => now.ms,
  );
  const router = consoleRouter({
    ...{ administration, signIns, access, host: '127.0.0.1', operatorGroup },
    history: new MetricsHistory(new Registry()),
    files: new PageFiles(),
  });
  const server = createServer(express().use('/console', router));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ask: Consoles['ask'] = async (path, headers = {}, method = 'GET') => askConsole(url, path, { method, headers });
  const signedIn = async (): Promise<Readonly<Record<string, string>>> => {
    const answer = await ask('/api/sign-in', { 'X-Console-Code': signIns.code(user).code }, 'POST');
    const { token } = z.object({ token: z.string() }).parse(JSON.parse(answer.body));
    return { Cookie: (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '', 'X-Console-Token': token };
  };
  return { url, signIns, recorded, now, ask, signedIn };
}
