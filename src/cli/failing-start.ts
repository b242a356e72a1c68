import { request } from 'node:http';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { loadAdminConfig, loadConfig } from '../config/config.ts';
import { type FailedStart, FailedStarts, nextStartMs } from '../service/failed-starts.ts';

/** Nobody reads from a socket that systemd holds between two starts. */
const answerMs = 2000;

const Readiness = z.object({ faults: z.object({ start: z.string() }) });

/**
 * Returns why a service that signetctl does not find cannot start, while its service manager tries
 * again; undefined if it is not known to be so. The daemon leaves its last failed start in its runtime
 * directory; those who may not read it are told at the operations listener. Where no start has failed,
 * nobody connects there: that would start a service that was stopped.
 */
export async function failingStart(configPath: string): Promise<string | undefined> {
  const left = leftBy(configPath);
  if (left?.exists !== true) return undefined;
  const reason = (left.last === undefined ? undefined : reasonIn(left.last)) ?? (await saidReason(configPath));
  return `signetd cannot start, and tries again by itself: ${reason ?? 'systemctl status and its log say why'}`;
}

function leftBy(configPath: string): FailedStarts | undefined {
  try {
    return new FailedStarts(dirname(loadAdminConfig(configPath).socketPath));
  } catch {
    return undefined;
  }
}

function reasonIn(failed: FailedStart): string {
  const nextMs = nextStartMs(failed);
  const next = nextMs > Date.now() ? `at ${new Date(nextMs).toISOString()}` : 'due now';
  return `${failed.reason}; the next attempt is ${next}`;
}

async function saidReason(configPath: string): Promise<string | undefined> {
  try {
    const { host, port, socketPath } = loadConfig(configPath).listeners.operations;
    const place = socketPath === undefined ? { host, port } : { socketPath };
    return Readiness.parse(JSON.parse(await textAt({ ...place, path: '/health/ready' }))).faults.start;
  } catch {
    return undefined;
  }
}

async function textAt(place: { readonly path: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...place, agent: false, signal: AbortSignal.timeout(answerMs) }, (response) => {
      text(response).then(resolve, reject);
    });
    asked.on('error', reject);
    asked.end();
  });
}
