/**
 * How long the requests of one tenant take while another one asks for as much as it can, within the
 * limits of a service's defaults, on a separate service. Arguments: words of kinds of load; all
 * kinds where there are none.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LimitsConfig } from '../src/config/limits-config.ts';
import { greedyKinds } from './greedy-requests.ts';
import { KeepAliveClient, type KeyReference } from './keep-alive-client.ts';
import { startOwnService, stopOwnService, timedStart, type Configuration } from './own-service.ts';
import { projectRoot, type Quickstart } from './quickstart-description.ts';
import { cpuSecondsOf, signetdPids } from './signetd-processes.ts';

const goal = 5;
/** Each operation is asked for so often, whether earlier answers have come or not: below the limit of a client. */
const intervalMs = 40;
const [idleSeconds, loadSeconds, rampSeconds] = [6, 10, 1];
const connections = 32;
/** An answer that takes longer, or is none, counts as if it had taken this. */
const answerMaxMs = 60_000;
/** After a load, the service has ended what it was asked for; otherwise it is started again. */
const quiet = { seconds: 1, cpuSeconds: 0.15, waitMaxSeconds: 60 };

const xml = { ID: 'd', base64Data: { base64Value: Buffer.from(`<doc>${'<line>text</line>'.repeat(1200)}</doc>`).toString('base64') } };

const operations = {
  checkKey: async (client: KeepAliveClient, { reference }: KeyReference) => client.call('pki/checkKey', { keyReference: { reference } }),
  sign: async (client: KeepAliveClient, key: KeyReference) => client.sign(key),
  /** Of a document that is parsed in a thread. */
  'sign of XML': async (client: KeepAliveClient, keyReference: KeyReference) =>
    client.call('signature/sign', { keyReference, parameters: { XP7Signature: { XP7Format: 'EXXP_7' } }, inputDocuments: [xml] }),
} as const;
type Operation = keyof typeof operations;
const names = ['checkKey', 'sign', 'sign of XML'] as const satisfies readonly Operation[];
type Times = Readonly<Record<Operation, readonly number[]>>;

/** The limits of the defaults: the quickstart's own are those of a service without any. */
function withDefaults(configuration: Configuration): Configuration {
  const limits = Object.entries(LimitsConfig.parse({})).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return { ...configuration, limits: Object.fromEntries(limits) };
}

/** Asks for each operation at its pace, and returns the times of the answers, in milliseconds. */
async function measured(client: KeepAliveClient, key: KeyReference, seconds: number): Promise<Times> {
  const open: Promise<void>[] = [];
  const times: Record<Operation, number[]> = { checkKey: [], sign: [], 'sign of XML': [] };
  const ask = async (name: Operation): Promise<void> => {
    const begun = performance.now();
    const answered = operations[name](client, key).then(
      () => performance.now() - begun,
      () => answerMaxMs,
    );
    times[name].push(await Promise.race([answered, delay(answerMaxMs, answerMaxMs, { ref: false })]));
  };
  const begun = performance.now();
  for (let turn = 0; performance.now() - begun < seconds * 1000; turn += 1) {
    for (const [index, name] of names.entries()) {
      await delay(Math.max(0, begun + (turn + index / names.length) * intervalMs - performance.now()));
      open.push(ask(name));
    }
  }
  await Promise.all(open);
  return times;
}

/** Runs the work while the greedy tenant is at its own; returns how many answers it gets in a second, too. */
async function underLoad<T>(
  directory: string,
  kind: string,
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly perSecond: number }> {
  const script = fileURLToPath(new URL('./greedy-tenant.ts', import.meta.url));
  // A client has a machine of its own: here it gives way to the service and to what measures. Linux
  // shares processors among sessions first, if it has autogroups (sched(7)).
  const child = spawn(
    'nice',
    ['-n', '19', process.execPath, '--disable-sigusr1', '--disable-warning=ExperimentalWarning', script, directory, kind],
    {
      cwd: projectRoot,
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    },
  );
  const autogroup = `/proc/${child.pid}/autogroup`;
  if (existsSync(autogroup)) writeFileSync(autogroup, '19');
  const begun = Promise.withResolvers<void>();
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      begun.reject(new Error(`the load "${kind}" ended early`));
      resolve();
    });
  });
  begun.promise.catch(() => undefined);
  let answers = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'begin') begun.resolve();
    else answers += 1;
  });
  try {
    await begun.promise;
    const beginMs = performance.now();
    await delay(rampSeconds * 1000);
    const value = await work();
    return { value, perSecond: (1000 * answers) / (performance.now() - beginMs) };
  } finally {
    child.stdin.end();
    await ended;
  }
}

/** Returns whether the service has ended its work in time. */
async function becomesQuiet(directory: string): Promise<boolean> {
  for (let waited = 0; waited < quiet.waitMaxSeconds; waited += quiet.seconds) {
    const before = cpuSecondsOf(signetdPids(directory));
    await delay(quiet.seconds * 1000);
    if (cpuSecondsOf(signetdPids(directory)) - before < quiet.cpuSeconds) return true;
  }
  return false;
}

/** The first requests compile what is used often, and open the connections. */
async function warmUp(client: KeepAliveClient, key: KeyReference): Promise<void> {
  for (let round = 0; round < 2; round += 1) await measured(client, key, idleSeconds);
}

function p99(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;
}

function ms(value: number): string {
  return value < 100 ? value.toFixed(1) : value.toFixed(0);
}

interface Row {
  readonly kind: string;
  readonly perSecond: number;
  readonly times: Times;
}

/** Of the idle phases, each has its slowest answers; one that the machine disturbed does not decide. */
function idleP99(phases: readonly Times[], name: Operation): number {
  const each = phases.map((times) => p99(times[name])).toSorted((left, right) => left - right);
  return each[Math.floor((each.length - 1) / 2)] ?? Number.NaN;
}

function lines({ kind, perSecond, times }: Row, idle: readonly Times[]): string[] {
  return names.map((name) => {
    const limit = goal * idleP99(idle, name);
    const slowest = p99(times[name]);
    return `${name} beside ${kind} (${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s): p99 ${ms(slowest)} ms; limit ${ms(limit)} ms, ${goal} times that of an idle service; ratio ${(slowest / limit).toFixed(2)}`;
  });
}

async function rowsOf(quickstart: Quickstart, directory: string, kinds: readonly string[]): Promise<string[]> {
  const client = new KeepAliveClient(quickstart, quickstart.clients.other, connections);
  const key = await client.create('PASSWORD');
  const idle: Times[] = [];
  const rows: Row[] = [];
  try {
    await warmUp(client, key);
    for (const kind of kinds) {
      process.stderr.write(`bench: ${kind}\n`);
      if (!(await becomesQuiet(directory))) {
        stopOwnService(directory);
        await timedStart(directory);
        await warmUp(client, key);
      }
      idle.push(await measured(client, key, idleSeconds));
      const { value: times, perSecond } = await underLoad(directory, kind, async () => measured(client, key, loadSeconds));
      rows.push({ kind, perSecond, times });
      for (const line of lines({ kind, perSecond, times }, idle)) process.stderr.write(`bench:   ${line}\n`);
    }
    return [
      ...names.map((name) => `${name} of an idle service: p99 ${ms(idleP99(idle, name))} ms, the median of ${idle.length} phases`),
      ...rows.flatMap((row) => lines(row, idle)),
    ];
  } finally {
    client.close();
  }
}

const words = process.argv.slice(2);
const known = Object.keys(greedyKinds);
if (words.some((word) => !known.some((kind) => kind.includes(word)))) {
  console.log(
    'usage: npm run bench:fairness -- [WORD ...]\nMeasures beside the kinds of load that contain one of the words; all of them without one:',
  );
  for (const kind of known) console.log(`  ${kind}`);
  process.exit(words.includes('--help') ? 0 : 2);
}
const kinds = known.filter((kind) => words.length === 0 || words.some((word) => kind.includes(word)));
const directory = mkdtempSync(join(tmpdir(), 'signetd-fairness-'));
try {
  for (const line of await rowsOf(startOwnService(directory, withDefaults), directory, kinds)) console.log(line);
} finally {
  stopOwnService(directory);
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
