/**
 * Memory over many signatures of the running quickstart: resident memory of each process after
 * every slice of the load, and its slope. The argument is the number of signatures, by default a
 * million.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiled } from './compile.ts';
import { measureLoad } from './native-tools.ts';
import { readQuickstart, type Quickstart } from './quickstart-description.ts';
import { ServiceClient } from './service-client.ts';
import { residentMebibytesOf, signetdPids } from './signetd-processes.ts';

const sliceSeconds = 10;
/** A run that would take more than this many seconds for a million ends early and says so. */
const maxSeconds = 900;
/** Growth before this point is due to caches and compilers warming up, not a leak. */
const settledShare = 0.25;

interface Sample {
  readonly signatures: number;
  readonly residentMebibytes: ReadonlyMap<number, number>;
}

async function run(quickstart: Quickstart, wanted: number, directory: string): Promise<Sample[]> {
  const service = new ServiceClient(quickstart, quickstart.clients.other);
  const keyReference = await service.createKey();
  const bodyFile = join(directory, 'request.json');
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: randomBytes(768).toString('base64') } }];
  writeFileSync(bodyFile, JSON.stringify({ keyReference, parameters: { rawSignature: {} }, inputDocuments }), { mode: 0o600 });
  const pids = signetdPids();
  const target = {
    url: service.urlOf('signature/sign'),
    client: service.client,
    caCertificate: quickstart.caCertificate,
    bodyFile,
    expected: '"resultMajor":0',
    pids,
  };
  const samples: Sample[] = [];
  const begin = performance.now();
  for (let signatures = 0; signatures < wanted && performance.now() - begin < maxSeconds * 1000;) {
    const load = await measureLoad(target, { connections: 32, seconds: sliceSeconds, warmup: 0 });
    if (load.errors > 0) throw new Error(`${load.errors} errors; the first: ${load.firstError}`);
    signatures += load.requests;
    samples.push({ signatures, residentMebibytes: new Map(pids.map((pid) => [pid, residentMebibytesOf(pid)])) });
    process.stderr.write(`bench: ${signatures} signatures, ${load.requestsPerSecond.toFixed(0)}/s\n`);
  }
  await service.removeKey(keyReference);
  return samples;
}

/** Returns the bytes of resident memory for each signature, by least squares. */
function slope(samples: readonly { readonly x: number; readonly y: number }[]): number {
  const mean = (of: (sample: { x: number; y: number }) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [meanX, meanY] = [mean(({ x }) => x), mean(({ y }) => y)];
  return mean(({ x, y }) => (x - meanX) * (y - meanY)) / mean(({ x }) => (x - meanX) ** 2);
}

function report(samples: readonly Sample[]): string[] {
  const total = samples.at(-1)?.signatures ?? 0;
  const settled = samples.filter(({ signatures }) => signatures >= total * settledShare);
  return signetdPids().map((pid) => {
    const points = settled.map(({ signatures, residentMebibytes: resident }) => ({
      x: signatures,
      y: (resident.get(pid) ?? 0) * 1024 ** 2,
    }));
    const [first, last] = [samples[0]?.residentMebibytes.get(pid) ?? 0, samples.at(-1)?.residentMebibytes.get(pid) ?? 0];
    const name = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('token-host') ? 'token host' : 'daemon';
    return (
      `${name}: ${first.toFixed(0)} MiB after the first ${sliceSeconds} s, ${last.toFixed(0)} MiB after ${total} signatures; ` +
      `slope after the first quarter ${slope(points).toFixed(2)} bytes a signature`
    );
  });
}

const quickstart = readQuickstart();
if (quickstart === undefined) {
  console.error('No quickstart to measure: run `npm run quickstart` first.');
  process.exit(1);
}
compiled('load');
const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-'));
try {
  for (const line of report(await run(quickstart, Number(process.argv[2] ?? 1_000_000), directory))) console.log(line);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
