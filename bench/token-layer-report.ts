import { measureCeiling } from './native-tools.ts';
import type { ScratchToken } from './scratch-token.ts';
import { measureTokenLayer, type LayerKeyType, type TokenLayerFigures } from './token-layer.ts';

const goals = { 'RSA-2048': 0.85, 'P-256': 0.5 } as const satisfies Record<LayerKeyType, number>;
const latencyGoal = 0.8;
const latencyMilliseconds = 3;
const latencyThreads = 8;
const threads = 2;
const turns = 5;

/**
 * Compares the token layer with C: lines of text, each figure with its limit. Both are measured in
 * short turns, and the median is reported, since the speed of a machine can change by a third from
 * one second to the next.
 */
export async function reportTokenLayer(token: ScratchToken, directory: string, say: (line: string) => void): Promise<string[]> {
  const lines: string[] = [];
  for (const type of ['RSA-2048', 'P-256'] as const) {
    say(`token layer, ${type}`);
    lines.push(line(type, await medianTurn(token, type, directory)));
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

interface Turn {
  readonly figures: TokenLayerFigures;
  /** Signatures per second of C only, before and after. */
  readonly ceiling: number;
  readonly ratio: number;
}

async function medianTurn(token: ScratchToken, type: LayerKeyType, directory: string): Promise<Turn> {
  const ofC = async (): Promise<number> => (await measureCeiling(token, type, { threads, seconds: 1 })).signaturesPerSecond;
  const measured: Turn[] = [];
  let before = await ofC();
  for (let turn = 0; turn < turns; turn += 1) {
    const figures = await measureTokenLayer(token, type, directory, { threads, seconds: 2, concurrency: 64 });
    const after = await ofC();
    const ceiling = (before + after) / 2;
    measured.push({ figures, ceiling, ratio: figures.signaturesPerSecond / ceiling });
    before = after;
  }
  const median = measured.toSorted((left, right) => left.ratio - right.ratio)[Math.floor(turns / 2)];
  if (median === undefined) throw new RangeError('no turn');
  return median;
}

function line(type: keyof typeof goals, { figures, ceiling, ratio }: Turn): string {
  return (
    `token layer, ${type}, ${threads} threads: ${rate(figures.signaturesPerSecond)} of C's ${rate(ceiling)}, ` +
    `${ratio.toFixed(2)} (goal ${goals[type].toFixed(2)}, the median of ${turns} turns); ${details(figures)}`
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
