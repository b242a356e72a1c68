import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type * as ConfigModule from '../src/config/config.ts';
import type * as TokenClientModule from '../src/token/client/token-client.ts';
import type * as KeyIdModule from '../src/token/key-id.ts';
import type { SignatureAlgorithm } from '../src/token/signature-algorithm.ts';
import { projectRoot } from './quickstart-description.ts';
import type { ScratchToken } from './scratch-token.ts';

export interface TokenLayerLength {
  readonly threads: number;
  readonly seconds: number;
  /** Number of concurrent requests. */
  readonly concurrency: number;
  /** Additional delay of each C_Sign, as with an HSM on the network. */
  readonly latencyMilliseconds?: number;
}

export interface TokenLayerFigures {
  readonly signaturesPerSecond: number;
  readonly clientCpuSecondsEach: number;
  readonly hostCpuSecondsEach: number;
  readonly p50Milliseconds: number;
  readonly p99Milliseconds: number;
  readonly eventLoopP99Milliseconds: number;
}

const algorithms = {
  'RSA-2048': { scheme: 'RSA_PKCS1', hash: 'sha256' },
  'P-256': { scheme: 'ECDSA', hash: 'sha256' },
} as const satisfies Record<string, SignatureAlgorithm>;
export type LayerKeyType = keyof typeof algorithms;

const clockTicksPerSecond = 100;

/**
 * Measures the client of the token host: the built host (`--jitless`), driven from this process.
 */
export async function measureTokenLayer(
  token: ScratchToken,
  type: LayerKeyType,
  directory: string,
  length: TokenLayerLength,
): Promise<TokenLayerFigures> {
  const { TokenClient, loadTokenConfig, newKeyId } = await builtTokenLayer();
  const configPath = join(directory, 'token-layer.yaml');
  writeFileSync(configPath, JSON.stringify({ token: settings(token, directory, length) }));
  const client = new TokenClient(loadTokenConfig(configPath), configPath, { info: () => undefined, error: console.error });
  await client.start();
  const id = newKeyId('general');
  await client.createKey(id, type);
  const digest = createHash('sha256').update('document').digest();
  const latencies: number[] = [];
  const run = { count: 0, over: false };
  const work = Array.from({ length: length.concurrency }, async () => {
    while (!run.over) {
      const begin = performance.now();
      await client.signDigests(id, algorithms[type], [digest]);
      latencies.push(performance.now() - begin);
      run.count += 1;
    }
  });
  await delay(1000);
  latencies.length = 0;
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const before = { count: run.count, at: performance.now(), self: process.cpuUsage(), host: cpuSecondsOf(client.hostPid) };
  await delay(length.seconds * 1000);
  const made = run.count - before.count;
  const seconds = (performance.now() - before.at) / 1000;
  const self = process.cpuUsage(before.self);
  const host = cpuSecondsOf(client.hostPid) - before.host;
  loop.disable();
  run.over = true;
  await Promise.all(work);
  await client.destroyKey(id);
  await client.stop();
  latencies.sort((left, right) => left - right);
  return {
    signaturesPerSecond: made / seconds,
    clientCpuSecondsEach: (self.user + self.system) / 1e6 / made,
    hostCpuSecondsEach: host / made,
    p50Milliseconds: quantile(latencies, 0.5),
    p99Milliseconds: quantile(latencies, 0.99),
    eventLoopP99Milliseconds: loop.percentile(99) / 1e6,
  };
}

function settings(token: ScratchToken, directory: string, { threads, latencyMilliseconds }: TokenLayerLength): object {
  const slow = latencyMilliseconds === undefined ? undefined : delayingModule(directory);
  return {
    label: token.label,
    pin: `file:${token.pinFile}`,
    threads,
    host: 'spawn',
    socketPath: join(directory, 'token.sock'),
    modulePath: slow ?? token.module,
    environment: {
      ...token.environment,
      ...(slow === undefined ? {} : { FAULT_REAL_MODULE: token.module, FAULT_LATENCY_MS: String(latencyMilliseconds) }),
    },
  };
}

/** Compiles the tests' PKCS#11 module with faults, which delays each C_Sign. */
function delayingModule(directory: string): string {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'fault-module.so');
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-o', path, join(projectRoot, 'test/support/fault-module.c'), '-ldl']);
  return path;
}

/** Uses the built code: from its sources the host would need JIT, which production forbids. */
async function builtTokenLayer() {
  const built = async (path: string): Promise<unknown> => import(new URL(`../dist/${path}.js`, import.meta.url).href);
  const client = (await built('token/client/token-client')) as typeof TokenClientModule;
  const config = (await built('config/config')) as typeof ConfigModule;
  const keyId = (await built('token/key-id')) as typeof KeyIdModule;
  return { ...client, ...config, ...keyId };
}

function cpuSecondsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
