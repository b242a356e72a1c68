/**
 * Commits of the state store on both databases, compared with the same disk and server without it.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Client } from 'pg';
import { StateConfig } from '../src/config/state-config.ts';
import type { StateStore } from '../src/state/state-store.ts';
import { openStateStore } from '../src/state/threaded-store.ts';
import { recordingLog } from '../test/support/silent-log.ts';
import { ScratchPostgresql } from '../test/support/postgresql.ts';

const concurrencies = [1, 8, 64];
const seconds = 2;
const pageBytes = 4096;

interface Figure {
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** Commits of a state store, and of its disk or server without it. */
export interface StateCommits {
  readonly name: 'SQLite' | 'PostgreSQL';
  readonly limit: Figure & { readonly name: string };
  readonly rows: readonly (Figure & { readonly writers: number })[];
}

/** Returns lines with commits per second and p99. */
export async function stateCommitLines(): Promise<string[]> {
  return (await stateCommits()).flatMap(({ name, limit, rows }) => [
    `${name}: ${limit.name}: ${perSecond(limit)}`,
    ...rows.map((row) => {
      const ratio = (row.perSecond / limit.perSecond).toFixed(2);
      return `${name}: commits with ${row.writers} writer${row.writers === 1 ? '' : 's'}: ${perSecond(row)}, ${ratio} of that`;
    }),
  ]);
}

/** Measures commits that alternately announce and finish a step on the token, on both databases. */
export async function stateCommits(): Promise<StateCommits[]> {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-state-'));
  const server = await ScratchPostgresql.start();
  try {
    const page = await measure(1, () => syncedWrites(join(directory, 'page')));
    const sqlite = StateConfig.parse({ path: join(directory, 'state.sqlite') });
    return [
      { name: 'SQLite', limit: { name: 'synced writes of one page', ...page }, rows: await rowsOf(sqlite) },
      {
        name: 'PostgreSQL',
        limit: { name: 'commits on one connection of bare pg', ...(await bareCommits(server)) },
        rows: await rowsOf(await server.newDatabase()),
      },
    ];
  } finally {
    await server.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function bareCommits(server: ScratchPostgresql): Promise<Figure> {
  await server.query('postgres', 'create table bench (id text primary key)');
  const client = new Client({ host: join(server.directory, 'socket'), database: 'postgres', user: 'signetd' });
  await client.connect();
  try {
    return await measure(1, () => async (turn) => {
      await client.query('insert into bench values ($1)', [String(turn)]);
    });
  } finally {
    await client.end();
  }
}

async function rowsOf(config: StateConfig): Promise<StateCommits['rows']> {
  const store = await openStateStore(config, recordingLog());
  try {
    const rows: StateCommits['rows'][number][] = [];
    // One after the other, since they would compete for the disk.
    for (const writers of concurrencies) rows.push({ writers, ...(await measure(writers, (writer) => announcements(store, writer))) });
    return rows;
  } finally {
    await store.close();
  }
}

function announcements(store: StateStore, writer: number): (turn: number) => Promise<void> {
  return async (turn) => {
    const keyId = `${writer}-${turn >> 1}`;
    if (turn % 2 === 0) await store.run('announce', { key_id: keyId, intent: 'CREATE', created_at: 0 });
    else await store.run('finishStep', keyId);
  };
}

function syncedWrites(file: string): (turn: number) => Promise<void> {
  const page = Buffer.alloc(pageBytes, 1);
  return async () => {
    const descriptor = openSync(file, 'w');
    writeSync(descriptor, page);
    fdatasyncSync(descriptor);
    closeSync(descriptor);
    return Promise.resolve();
  };
}

async function measure(writers: number, makeWriter: (writer: number) => (turn: number) => Promise<void>): Promise<Figure> {
  const latenciesMs: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const write = async (writer: number): Promise<void> => {
    const once = makeWriter(writer);
    for (let turn = 0; performance.now() < end; turn += 1) {
      const start = performance.now();
      await once(turn);
      latenciesMs.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: writers }, async (_, writer) => write(writer)));
  const elapsedSeconds = (performance.now() - begin) / 1000;
  latenciesMs.sort((left, right) => left - right);
  return { perSecond: latenciesMs.length / elapsedSeconds, p99Ms: latenciesMs[Math.floor(latenciesMs.length * 0.99)] ?? 0 };
}

const perSecond = ({ perSecond: rate, p99Ms }: Figure): string => `${rate.toFixed(0)}/s, p99 ${p99Ms.toFixed(2)} ms`;
