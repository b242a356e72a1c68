/** Has verifiers judge changed inputs for a time, and tells what was slow on the event loop and what was a defect. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { randomNumbers } from '../support/random-numbers.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { LoopClock, type Spent } from './loop-clock.ts';
import { targets } from './targets.ts';

const usage = `usage: npm run fuzz:verifiers -- [options] [${Object.keys(targets).join('|')} ...]

Has the verifiers judge what strangers may send: sound signatures and chains that were changed at random. Ends with status 1 if an
input caused anything but a result or a refusal, or held the event loop too long. Such inputs are kept in var/fuzz.

  --seconds N   how long, for each verifier (default 60)
  --seed N      other inputs (default: the time)
  --again FILE  one kept input, with one verifier
`;
/** Processor time of one request on the event loop. */
const loopMaxMs = 50;
/** Garbage collection and cold code take time as well: an input is slow only if it is slow again and again. */
const tries = 4;
const directory = join(import.meta.dirname, '..', '..', 'var', 'fuzz');

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    again: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const names = positionals.length === 0 ? Object.keys(targets) : positionals;
if (options.help || names.some((name) => !Object.hasOwn(targets, name)) || (options.again !== undefined && names.length !== 1)) {
  console.error(usage);
  process.exit(2);
}
mkdirSync(directory, { recursive: true });
let failed = false;
for (const name of names) {
  const make = targets[name];
  if (make === undefined) throw new Error(`no verifier ${name}`);
  if (options.again === undefined) await fuzz(name, make());
  else await tell(make(), readFileSync(options.again));
}
process.exit(failed ? 1 : 0);

async function fuzz(name: string, target: FuzzTarget): Promise<void> {
  const random = randomNumbers(Number(options.seed));
  const clock = new LoopClock();
  const outcomes = new Map<string, number>();
  const slowest = { loop: 0, threads: 0 };
  let count = 0;
  let defects = 0;
  const end = Date.now() + Number(options.seconds) * 1000;
  while (Date.now() < end) {
    const input = target.input(random);
    count += 1;
    const { outcome, spentMs } = await judged(target, input, clock);
    const kind = outcome.split(':', 1)[0] ?? '';
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    const loop = spentMs.loop > loopMaxMs ? await leastLoopMs(target, input, clock) : spentMs.loop;
    slowest.loop = Math.max(slowest.loop, loop);
    slowest.threads = Math.max(slowest.threads, spentMs.threads);
    if (loop <= loopMaxMs && kind !== 'DEFECT') continue;
    defects += 1;
    const path = join(directory, `${name}-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`);
    writeFileSync(path, input);
    console.log(`${name}: ${outcome}, ${loop.toFixed(1)} ms on the event loop: ${path}`);
  }
  failed ||= defects > 0;
  const counts = Array.from(outcomes, ([outcome, number]) => `${outcome} ${number}`).join(', ');
  console.log(
    `${name}: ${count} inputs (seed ${options.seed}), ${defects} defects; slowest: ${slowest.loop.toFixed(1)} ms on the event loop (limit ${loopMaxMs}), ` +
      `${slowest.threads.toFixed(0)} ms in a thread; ${counts}`,
  );
}

async function tell(target: FuzzTarget, input: Uint8Array): Promise<void> {
  for (let count = 0; count < tries; count += 1) {
    const { outcome, spentMs } = await judged(target, input, new LoopClock());
    console.log(`${outcome}: ${spentMs.loop.toFixed(1)} ms on the event loop, ${spentMs.threads.toFixed(1)} ms in a thread`);
  }
}

async function leastLoopMs(target: FuzzTarget, input: Uint8Array, clock: LoopClock): Promise<number> {
  const all: number[] = [];
  for (let count = 0; count < tries; count += 1) all.push((await judged(target, input, clock)).spentMs.loop);
  return Math.min(...all);
}

async function judged(
  target: FuzzTarget,
  input: Uint8Array,
  clock: LoopClock,
): Promise<{ readonly outcome: string; readonly spentMs: Spent }> {
  const { result, spentMs } = await clock.measured(async () => {
    try {
      return await target.run(input, clock.threads);
    } catch (error) {
      return `DEFECT: ${error instanceof Error ? (error.stack ?? error.message).slice(0, 600) : String(error)}`;
    }
  });
  return { outcome: result, spentMs };
}
