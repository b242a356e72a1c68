import { measureCeiling, type Ceiling, type KeyType } from './native-tools.ts';
import type { ScratchToken } from './scratch-token.ts';
import { measureTokenLayer, type TokenLayerFigures } from './token-layer.ts';

const goals = { 'RSA-2048': 0.85, 'P-256': 0.5 } as const satisfies Record<KeyType, number>;
const latencyGoal = 0.8;
const latencyMilliseconds = 3;
const latencyThreads = 8;
const threads = 2;

/** The token layer alone against C: lines of text, each figure with its limit. The limit is measured before and after, since machines drift. */
export async function reportTokenLayer(token: ScratchToken, directory: string, say: (line: string) => void): Promise<string[]> {
  const lines: string[] = [];
  for (const type of ['RSA-2048', 'P-256'] as const) {
    say(`token layer, ${type}`);
    const before = await measureCeiling(token, type, { threads, seconds: 2 });
    const figures = await measureTokenLayer(token, type, directory, { threads, seconds: 4, concurrency: 64 });
    const after = await measureCeiling(token, type, { threads, seconds: 2 });
    lines.push(line(type, figures, before, after));
  }
  say(`token layer, ${latencyMilliseconds} ms for each signature`);
  const slow = await measureTokenLayer(token, 'P-256', directory, {
    threads: latencyThreads,
    seconds: 4,
    concurrency: 64,
    latencyMilliseconds,
  });
  const most = (latencyThreads * 1000) / latencyMilliseconds;
  lines.push(
    `token layer, P-256, ${latencyThreads} threads, each signature ${latencyMilliseconds} ms late: ${rate(slow.signaturesPerSecond)} of ${rate(most)}, ` +
      `${(slow.signaturesPerSecond / most).toFixed(2)} (goal ${latencyGoal.toFixed(2)}); ${details(slow)}`,
  );
  return lines;
}

function line(type: keyof typeof goals, figures: TokenLayerFigures, before: Ceiling, after: Ceiling): string {
  const ceiling = (before.signaturesPerSecond + after.signaturesPerSecond) / 2;
  return (
    `token layer, ${type}, ${threads} threads: ${rate(figures.signaturesPerSecond)} of C's ${rate(ceiling)}, ` +
    `${(figures.signaturesPerSecond / ceiling).toFixed(2)} (goal ${goals[type].toFixed(2)}); ${details(figures)}`
  );
}

function details(figures: TokenLayerFigures): string {
  const { clientCpuSecondsEach, hostCpuSecondsEach, p50Milliseconds, p99Milliseconds, eventLoopP99Milliseconds } = figures;
  return (
    `CPU each: client ${(clientCpuSecondsEach * 1e6).toFixed(0)} us, host ${(hostCpuSecondsEach * 1e6).toFixed(0)} us; ` +
    `p50 ${p50Milliseconds.toFixed(2)} ms, p99 ${p99Milliseconds.toFixed(2)} ms; event loop p99 ${eventLoopP99Milliseconds.toFixed(1)} ms`
  );
}

const rate = (perSecond: number): string => `${perSecond.toFixed(0)}/s`;
