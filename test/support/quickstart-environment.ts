import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Description } from '../../src/quickstart/description.ts';
import { collectLog } from './suite-logs.ts';

/** The files of a quickstart that name its directory or its ports. */
const filesOfPlace = ['signetd.yaml', 'quickstart.json', 'gateways/ports.json', 'token/softhsm2.conf'];
/** Names the stopped quickstart that `prepare` copies. Set before any test file runs. */
const templateVariable = 'SIGNETD_TEST_QUICKSTART';

export interface QuickstartEnvironment {
  readonly directory: string;
  /** Makes what a first start and a stop leave behind, by copying: the token, the CAs and the clients are those of all copies. */
  prepare(): void;
  /** Runs the quickstart (again) and answers what it printed. */
  start(): string;
  /** Runs the quickstart while the test does something else. */
  startAside(): ChildProcessByStdio<null, Readable, null>;
  stop(): string;
  description(): Description;
  remove(): void;
}

/** A quickstart of its own in a temporary directory, made by the very program that users run. */
export function quickstartEnvironment(): QuickstartEnvironment {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-quickstart-'));
  const { port, release } = reservedPort();
  const env = { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: directory, SIGNETD_QUICKSTART_PORT: port };
  const run = (script: string): string =>
    execFileSync(process.execPath, ['--disable-sigusr1', `dist/quickstart/${script}.js`], {
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const start = (): string => run('quickstart');
  const stop = (): string => run('stop');
  return {
    directory,
    prepare() {
      const template = process.env[templateVariable];
      if (template === undefined) {
        // Programs outside of the suite have no template.
        start();
        stop();
      } else {
        copyFiles(template, directory);
        move(directory, { from: template, port: Number(port) });
      }
    },
    start,
    startAside: () =>
      spawn(process.execPath, ['--disable-sigusr1', 'dist/quickstart/quickstart.js'], { env, stdio: ['ignore', 'pipe', 'inherit'] }),
    stop,
    description: () => JSON.parse(readFileSync(join(directory, 'quickstart.json'), 'utf8')) as Description,
    remove: () => {
      run('stop');
      collectLog(join(directory, 'daemon.log'));
      rmSync(directory, { recursive: true, force: true });
      release();
    },
  };
}

const reservedMs = 2 * 3600 * 1000;

/**
 * Reserves ten ports, also against other runs of the suite: while a quickstart is stopped, nobody else takes its ports. They are below
 * those that the kernel gives to outgoing connections.
 */
function reservedPort(): { readonly port: string; readonly release: () => void } {
  const reservations = join(tmpdir(), 'signetd-test-ports');
  mkdirSync(reservations, { recursive: true });
  for (;;) {
    const port = String(10 * randomInt(1000, 2000));
    const path = join(reservations, port);
    const release = (): void => {
      rmSync(path, { recursive: true, force: true });
    };
    try {
      mkdirSync(path);
      return { port, release };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    // That of a run which was killed.
    const { mtimeMs = Date.now() } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > reservedMs) release();
  }
}

/** Keeps a copy of a stopped quickstart, which `prepare` copies from now on. */
export function keepAsTemplate({ directory }: QuickstartEnvironment, template: string): void {
  copyFiles(directory, template);
  move(template, { from: directory });
  process.env[templateVariable] = template;
}

function copyFiles(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() && !path.endsWith('/daemon.log') });
}

/** Makes the files of a copied quickstart name its own directory, and ports from `port` on where they are to change. */
function move(directory: string, { from, port }: { readonly from: string; readonly port?: number }): void {
  const paths = filesOfPlace.map((name) => join(directory, name));
  const texts = paths.map((path) => readFileSync(path, 'utf8'));
  const used = new Set(
    texts.flatMap((text) => [...text.matchAll(/(?:\bport: |"(?:smtp|sms)":|127\.0\.0\.1:)(\d+)\b/g)].map(([, number = '']) => number)),
  );
  const ports = new Map([...used].map((number, index) => [number, port === undefined ? number : String(port + 2 * index)]));
  for (const [index, text] of texts.entries()) {
    writeFileSync(
      paths[index] ?? '',
      text.replaceAll(from, directory).replaceAll(/\b\d{5}\b/g, (number) => ports.get(number) ?? number),
    );
  }
}
