/**
 * Measures what docs/sizing.md says, on services of its own, and writes the figures into the page.
 * With --print, it prints the page instead.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { noSeveralInstances, SeveralInstances } from '../test/support/several-instances.ts';
import { auditCosts } from './audit-cost.ts';
import { compiled } from './compile.ts';
import { instanceFigures, quickstartOf, type InstanceFigures } from './instance-figures.ts';
import { startOwnService, stopOwnService } from './own-service.ts';
import { projectRoot } from './quickstart-description.ts';
import { createScratchToken } from './scratch-token.ts';
import { residentMebibytesByPart } from './signetd-processes.ts';
import { largePdf } from './sizing-documents.ts';
import { formatFigures, Watch } from './sizing-formats.ts';
import { sqliteBytes, storedBytesEach, storeGrowth, type StoreGrowth } from './sizing-growth.ts';
import { withFigures, type Machine, type SizingFigures, type TokenFigures } from './sizing-page.ts';
import { stateCommits } from './state-commits.ts';
import { measureTokenLayer } from './token-layer.ts';
import { xmlMemoryTimes } from './xades.ts';

/** Longer than the daemon waits until it returns free memory. */
const restMs = 40_000;
const settleMs = 3000;
const xmlMebibytes = 10;
const tokens = [
  { threads: 2, latencyMs: 5 },
  { threads: 8, latencyMs: 5 },
  { threads: 8, latencyMs: 20 },
  { threads: 16, latencyMs: 20 },
];
const tokenSeconds = 3;
const auditConnections = [32];

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

function printed(program: string, ...words: string[]): string {
  return execFileSync(program, words, { cwd: projectRoot, encoding: 'utf8' }).trim();
}

function machine(): Machine {
  const changed =
    printed('git', 'status', '--porcelain', '--', 'src', 'native', 'bench', 'package-lock.json') === '' ? '' : ', with changes';
  return {
    processors: cpus().length,
    model: cpus()[0]?.model ?? 'unknown',
    memoryBytes: totalmem(),
    system: `${type()} ${release().split('.', 2).join('.')}`,
    node: process.versions.node,
    token: `SoftHSM ${printed('softhsm2-util', '--version')}`,
    postgresql: printed('psql', '--version').replace(/^psql \(PostgreSQL\) (\S+).*$/s, 'PostgreSQL $1'),
    date: new Date().toISOString(),
    commit: `${printed('git', 'rev-parse', '--short=8', 'HEAD')}${changed}`,
  };
}

type OfOneService = Pick<SizingFigures, 'formats' | 'memory' | 'pdf' | 'storedBytesEach'> & { readonly sqlite: StoreGrowth };

async function ofOneService(parent: string): Promise<OfOneService> {
  const [service, scratch] = [join(parent, 'service'), join(parent, 'scratch')];
  mkdirSync(scratch);
  const place = { quickstart: startOwnService(service), scratch, service };
  try {
    await delay(settleMs);
    const started = residentMebibytesByPart(service);
    say('growth of the state store');
    const sqlite = await storeGrowth(place.quickstart, () => sqliteBytes(service));
    const stored = await storedBytesEach(place.quickstart, service, scratch);
    const watch = new Watch(service);
    const formats = await formatFigures(place, watch, say);
    const { peak } = watch;
    say('memory at rest');
    await delay(restMs);
    const rested = residentMebibytesByPart(service);
    say('a large PDF');
    return { formats, memory: { started, peak, rested }, pdf: await largePdf(place), storedBytesEach: stored, sqlite };
  } finally {
    stopOwnService(service);
  }
}

async function tokenFigures(directory: string): Promise<TokenFigures[]> {
  const token = createScratchToken(directory);
  if (token === undefined) throw new Error('SoftHSM (package softhsm2) is not installed');
  const figures: TokenFigures[] = [];
  for (const { threads, latencyMs } of tokens) {
    say(`a token that takes ${latencyMs} ms, ${threads} threads`);
    const length = { threads, seconds: tokenSeconds, concurrency: 8 * threads, latencyMilliseconds: latencyMs };
    const { signaturesPerSecond, hostCpuSecondsEach } = await measureTokenLayer(token, 'P-256', directory, length);
    figures.push({ threads, latencyMs, perSecond: signaturesPerSecond, hostCpuSeconds: hostCpuSecondsEach });
  }
  return figures;
}

async function ofSeveral(): Promise<{ readonly instances: InstanceFigures[]; readonly postgresql: StoreGrowth } | undefined> {
  if (noSeveralInstances !== undefined) {
    say(`several instances are not measured: ${noSeveralInstances}`);
    return undefined;
  }
  say('two instances, with a balancer and PostgreSQL');
  const several = await SeveralInstances.start();
  try {
    const postgresql = await storeGrowth(quickstartOf(several), async () => {
      const [row] = await several.postgresql.query(several.database, 'select pg_database_size(current_database()) as bytes');
      return Number(row?.['bytes']);
    });
    return { instances: await instanceFigures(several, say), postgresql };
  } finally {
    await several.stop();
  }
}

async function figuresOf(directory: string): Promise<SizingFigures> {
  const { sqlite, ...one } = await ofOneService(directory);
  say('memory for XML');
  const times = xmlMemoryTimes(xmlMebibytes, directory);
  const token = await tokenFigures(directory);
  say('the state store on both databases');
  const commits = await stateCommits();
  say('with and without the audit log, in turns');
  const [audit] = await auditCosts(auditConnections);
  if (audit === undefined) throw new Error('the cost of the audit log was not measured');
  const several = await ofSeveral();
  const growth = { SQLite: sqlite, PostgreSQL: several?.postgresql };
  return { machine: machine(), ...one, xmlMemoryTimes: times, growth, token, commits, audit, instances: several?.instances };
}

const begun = performance.now();
const page = join(projectRoot, 'docs', 'sizing.md');
compiled('load');
compiled('plain-load');
const directory = mkdtempSync(join(tmpdir(), 'signetd-sizing-'));
try {
  const figures = await figuresOf(directory);
  const text = withFigures(readFileSync(page, 'utf8'), figures);
  if (process.argv.includes('--print')) process.stdout.write(text);
  else writeFileSync(page, text);
  say(`${Math.round((performance.now() - begun) / 1000)} s in all`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
