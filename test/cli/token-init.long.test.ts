import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { loadTokenConfig } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { recordingLog } from '../support/silent-log.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { signetctl, type CommandRun } from '../support/signetctl.ts';

const softhsm =
  ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so'].find((path) => existsSync(path)) ?? '';
let directory: string;
let configPath: string;
let environment: Record<string, string>;

/** With a token "prod", for tests to copy, and what the command said that initialised it. */
let template: string;
let initialising: CommandRun;
const made: string[] = [];

beforeAll(async () => {
  fresh();
  template = directory;
  initialising = await signetctl(initArguments('so-pin', 'pin', '--label', 'prod'));
  made.splice(0);
});

afterEach(() => {
  for (const each of made.splice(0)) rmSync(each, { recursive: true, force: true });
});

afterAll(() => {
  rmSync(template, { recursive: true, force: true });
});

/** A SoftHSM directory in which no token has been initialised, or with the tokens of another one. */
function fresh(tokens?: string): void {
  directory = mkdtempSync(join(tmpdir(), 'signetd-init-'));
  made.push(directory);
  if (tokens === undefined) mkdirSync(join(directory, 'tokens'));
  else cpSync(join(tokens, 'tokens'), join(directory, 'tokens'), { recursive: true });
  environment = { SOFTHSM2_CONF: join(directory, 'softhsm2.conf') };
  writeFileSync(
    join(directory, 'softhsm2.conf'),
    `directories.tokendir = ${directory}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n`,
  );
  for (const [name, value] of Object.entries({ pin: '123456', 'so-pin': '87654321', wrong: '00000000', short: '12' })) {
    writeFileSync(join(directory, name), `${value}\n`, { mode: 0o600 });
  }
  configPath = join(directory, 'token.yaml');
  const token = { label: 'prod', pin: `file:${directory}/pin`, host: 'spawn', socketPath: join(directory, 'token.sock'), environment };
  writeFileSync(configPath, JSON.stringify({ token }));
}

const initArguments = (soPin: string, pin: string, ...args: string[]): string[] => [
  ...['--config', configPath, 'token', 'init'],
  ...['--so-pin', `file:${directory}/${soPin}`, '--pin', `file:${directory}/${pin}`],
  ...args,
];

const init = async (label: string, ...more: string[]): Promise<CommandRun> => initWith('so-pin', 'pin', '--label', label, ...more);

async function initWith(...args: Parameters<typeof initArguments>): Promise<CommandRun> {
  return signetctlHere(initArguments(...args));
}

function shown(): string {
  return execFileSync('softhsm2-util', ['--show-slots'], { env: { ...process.env, ...environment }, encoding: 'utf8' });
}

function pkcs11Tool(...args: string[]): string {
  return execFileSync('pkcs11-tool', ['--module', softhsm, '--token-label', 'prod', ...args], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

const initialisedTokens = (): number => shown().split(/Initialized:\s+yes/).length - 1;

it('initialises a fresh token and sets the PIN, and other programs agree', async () => {
  fresh(template);
  expect(initialising.stderr).toBe('');
  expect(initialising.status).toBe(0);
  expect(initialising.stdout).toMatch(/^label:\s+prod$/m);
  expect(shown()).toMatch(/Initialized:\s+yes\s+User PIN init\.:\s+yes\s+Label:\s+prod {28}\s*\n/);
  expect(pkcs11Tool('--login', '--pin', '123456', '--list-objects')).toBe('');
  const token = new TokenClient(loadTokenConfig(configPath), configPath, recordingLog());
  await token.start();
  expect((await token.createKey(newKeyId('general'), 'P-256')).length).toBeGreaterThan(0);
  await token.stop();
});

it('takes a label with characters of several bytes', async () => {
  fresh();
  expect((await init('Schlüssel 1')).status).toBe(0);
  expect(shown()).toContain('Schlüssel 1');
});

it('leaves an initialised token alone, also beside a free one', async () => {
  fresh(template);
  const before = shown();
  const answer = await init('prod');
  expect(answer.status).toBe(5);
  expect(answer.stderr).toContain('is already initialised');
  const elsewhere = await init('elsewhere', '--reinitialise', '--confirm', 'elsewhere');
  expect(elsewhere.status).toBe(5);
  expect(elsewhere.stderr).toContain('no initialised token has this label');
  expect(shown()).toBe(before);
});

it('erases a token only where its label is typed again, and only with its SO PIN', async () => {
  fresh(template);
  pkcs11Tool('--login', '--pin', '123456', '--keypairgen', '--key-type', 'EC:prime256v1', '--id', '01');
  expect((await init('prod', '--reinitialise')).stderr).toContain('type its label again');
  expect((await init('prod', '--reinitialise', '--confirm', 'Prod')).status).toBe(5);
  const wrong = await initWith('wrong', 'pin', '--label', 'prod', '--reinitialise', '--confirm', 'prod');
  expect(wrong.status).toBe(4);
  expect(wrong.stderr).toBe('signetctl: the token refuses the SO PIN; it was tried once, and nothing was changed\n');
  expect(pkcs11Tool('--login', '--pin', '123456', '--list-objects')).toContain('Private Key Object');
  expect((await init('prod', '--reinitialise', '--confirm', 'prod')).status).toBe(0);
  expect(pkcs11Tool('--login', '--pin', '123456', '--list-objects')).toBe('');
});

it('finds what is wrong with the PINs before it changes anything', async () => {
  fresh();
  const short = await initWith('so-pin', 'short', '--label', 'prod');
  expect(short.status).toBe(5);
  expect(short.stderr).toMatch(/the user PIN has 2 characters; the token accepts \d+ to \d+/);
  const missing = await initWith('so-pin', 'none', '--label', 'prod');
  expect(missing.status).toBe(78);
  expect(missing.stderr).toContain('there is no such file');
  expect(initialisedTokens()).toBe(0);
});

it('takes no PIN on the command line, and does not repeat it', async () => {
  fresh();
  const answer = await signetctl(['--config', configPath, 'token', 'init', '--label', 'prod', '--so-pin', '87654321', '--pin', '123456']);
  expect(answer.status).toBe(2);
  expect(answer.stderr).not.toContain('87654321');
  expect(initialisedTokens()).toBe(0);
});

it('refuses while a token host runs', async () => {
  fresh(template);
  const token = new TokenClient(loadTokenConfig(configPath), configPath, recordingLog());
  await token.start();
  const answer = await init('prod', '--reinitialise', '--confirm', 'prod');
  expect(answer.status).toBe(5);
  expect(answer.stderr).toContain('the token host is running');
  expect((await token.random(16)).length).toBe(16);
  await token.stop();
});

it('escapes what a hostile label would do to the terminal', async () => {
  fresh();
  const label = '\u001b[2J\u009b31m\u202eevil\\';
  expect((await init(label)).status).toBe(0);
  const text = await signetctlHere(['--config', configPath, 'token', 'slots']);
  expect(text.stdout).toContain('\\u{1b}[2J\\u{9b}31m\\u{202e}evil\\\\');
  const json = await signetctlHere(['--config', configPath, 'token', 'slots', '--json']);
  for (const { stdout, stderr } of [text, json]) {
    for (const character of ['\u001b', '\u009b', '\u202e']) expect(stdout + stderr).not.toContain(character);
  }
  const { slots } = JSON.parse(json.stdout) as { slots: { token: { label: string } }[] };
  expect(slots.map(({ token }) => token.label)).toContain(label);
});
