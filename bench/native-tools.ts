import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import { compiled } from './compile.ts';
import type { Client } from './quickstart-description.ts';
import type { ScratchToken } from './scratch-token.ts';

const run = promisify(execFile);

export const keyTypes = ['RSA-2048', 'P-256', 'P-384', 'P-521'] as const;
export type KeyType = (typeof keyTypes)[number];

const Ceiling = z.object({
  type: z.enum(keyTypes),
  signaturesPerSecond: z.number().positive(),
  cpuSecondsPerSignature: z.number().positive(),
  threads: z.int(),
});
export type Ceiling = z.output<typeof Ceiling>;

const Load = z.object({
  connections: z.int(),
  seconds: z.number(),
  requests: z.int(),
  requestsPerSecond: z.number(),
  errors: z.int(),
  firstError: z.string(),
  p50Milliseconds: z.number(),
  p99Milliseconds: z.number(),
  maxMilliseconds: z.number(),
  /** CPU of the load generator itself. */
  cpuSeconds: z.number(),
  cpuSecondsPerRequest: z.number(),
  /**
   * For an open loop: requests sent, without a free connection, and refused, with the time until
   * the refusal.
   */
  openLoop: z
    .object({
      sent: z.int(),
      unsent: z.int(),
      refused503: z.int(),
      refused429: z.int(),
      refusedP50Milliseconds: z.number(),
      refusedP99Milliseconds: z.number(),
    })
    .optional(),
  processes: z.array(z.object({ pid: z.int(), cpuSeconds: z.number().nullable() })),
});
export type Load = z.output<typeof Load>;

export interface Target {
  readonly url: URL;
  readonly client: Client;
  readonly caCertificate: string;
  readonly bodyFile: string;
  /** Text that an expected answer contains. */
  readonly expected: string;
  /** Processes whose CPU time is counted. */
  readonly pids: readonly number[];
}

/** Measures a token driven by C only. */
export async function measureCeiling(token: ScratchToken, type: KeyType, length: { threads: number; seconds: number }): Promise<Ceiling> {
  const options = { module: token.module, 'pin-file': token.pinFile, label: token.label, type, ...length };
  const { stdout } = await run(compiled('ceiling'), flags(options), { env: { ...process.env, ...token.environment }, timeout: 120_000 });
  return Ceiling.parse(JSON.parse(stdout));
}

/** Measures an HTTPS server with the load generator. */
export async function measureLoad(
  target: Target,
  length: { connections: number; seconds: number; warmup: number; rate?: number },
): Promise<Load> {
  const options = {
    host: target.url.hostname.replace(/^\[|\]$/g, ''),
    port: target.url.port || '443',
    path: target.url.pathname,
    cert: target.client.certificate,
    key: target.client.key,
    ca: target.caCertificate,
    'body-file': target.bodyFile,
    expect: target.expected,
    pids: target.pids.join(','),
    ...length,
  };
  const { stdout } = await run(compiled('load'), flags(options), { timeout: 120_000 });
  return Load.parse(JSON.parse(stdout));
}

/** Returns the CPU seconds of the watched processes for each request. */
export function serverCpuPerRequest(load: Load): number {
  return load.processes.reduce((sum, { cpuSeconds }) => sum + (cpuSeconds ?? 0), 0) / load.requests;
}

function flags(options: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
