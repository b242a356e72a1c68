/** Time and memory for a long CRL. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from './quickstart-description.ts';

const entries = 100_000;
const goalSeconds = 0.5;
const goalMegabytes = 100;
const runs = 3;

interface CrlCost {
  readonly seconds: number;
  readonly peakBytes: number;
  readonly crlBytes: number;
}

/** Returns a line on the best of several runs: other work on the machine slows some down. */
export function measureCrl(): string {
  const costs = Array.from({ length: runs }, measureOnce).toSorted((one, other) => one.seconds - other.seconds);
  const { seconds, peakBytes, crlBytes } = costs[0] ?? { seconds: Number.NaN, peakBytes: Number.NaN, crlBytes: 0 };
  const megabytes = peakBytes / 1e6;
  return `CRL of ${entries} entries (${(crlBytes / 1e6).toFixed(1)} MB): ${seconds.toFixed(2)} s (goal ${goalSeconds}), ${megabytes.toFixed(0)} MB more memory (goal ${goalMegabytes})`;
}

function measureOnce(): CrlCost {
  const printed = execFileSync(process.execPath, ['--disable-sigusr1', join(projectRoot, 'bench', 'crl-process.ts'), String(entries)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(printed) as CrlCost;
}
