/**
 * Overload: ten times the service's peak rate, in an open loop, on a separate service. Argument:
 * seconds, by default 60. It shows the goodput compared with the peak, the waiting times of
 * accepted and refused requests, and the rate right after.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureLoad, type Load, type Target } from './native-tools.ts';
import { startOwnService, stopOwnService } from './own-service.ts';
import { ServiceClient } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const seconds = Number(process.argv[2] ?? 60);
const times = 10;
const connections = 1000;
const goodputGoal = 0.8;
const limits = { requestsMax: 256, requestsMaxPerClient: 256, handshakeTimeoutSeconds: 60 };

async function startService(directory: string): Promise<Target> {
  const description = startOwnService(directory, (config) => ({ ...config, limits: { ...config.limits, ...limits } }));
  const service = new ServiceClient(description, description.clients.other);
  const bodyFile = join(directory, 'request.json');
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: randomBytes(768).toString('base64') } }];
  writeFileSync(bodyFile, JSON.stringify({ keyReference: await service.createKey(), parameters: { rawSignature: {} }, inputDocuments }), {
    mode: 0o600,
  });
  const { caCertificate } = description;
  const url = service.urlOf('signature/sign');
  return { url, client: service.client, caCertificate, bodyFile, expected: '"resultMajor":0', pids: signetdPids(directory) };
}

function line(
  name: string,
  { requestsPerSecond, p50Milliseconds, p99Milliseconds, errors, openLoop, seconds: taken, firstError }: Load,
): string {
  const served = `${name}: ${requestsPerSecond.toFixed(0)}/s served, p50 ${p50Milliseconds.toFixed(1)} ms, p99 ${p99Milliseconds.toFixed(1)} ms`;
  const failures = errors === 0 ? '' : `; ERRORS ${errors}: ${firstError}`;
  if (openLoop === undefined) return served + failures;
  const { sent, unsent, refused503, refused429, refusedP50Milliseconds, refusedP99Milliseconds } = openLoop;
  return (
    `${served}; ${(sent / taken).toFixed(0)}/s sent, ${(unsent / taken).toFixed(0)}/s found no free connection; refused: 503 ${(refused503 / taken).toFixed(0)}/s, ` +
    `429 ${(refused429 / taken).toFixed(0)}/s, after p50 ${refusedP50Milliseconds.toFixed(1)} ms, p99 ${refusedP99Milliseconds.toFixed(1)} ms${failures}`
  );
}

const directory = mkdtempSync(join(tmpdir(), 'signetd-overload-'));
try {
  const target = await startService(directory);
  const peak = await measureLoad(target, { connections: 32, seconds: 10, warmup: 3 });
  console.log(line('peak, 32 connections', peak));
  const rate = times * peak.requestsPerSecond;
  const over = await measureLoad(target, { connections, seconds, warmup: 15, rate });
  console.log(line(`${times} times the peak (${rate.toFixed(0)}/s), ${connections} connections`, over));
  const after = await measureLoad(target, { connections: 32, seconds: 5, warmup: 0 });
  console.log(line('right afterwards, 32 connections', after));
  const goodput = over.requestsPerSecond / peak.requestsPerSecond;
  console.log(
    `goodput / peak: ${goodput.toFixed(2)} (goal ${goodputGoal}); recovery: ${(after.requestsPerSecond / peak.requestsPerSecond).toFixed(2)}`,
  );
} finally {
  stopOwnService(directory);
  rmSync(directory, { recursive: true, force: true });
}
