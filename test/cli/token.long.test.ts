import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadFoundations } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { keyTrial, macKeyId, newKeyId, parseKeyId } from '../../src/token/key-id.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

const softhsm =
  ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so'].find((path) => existsSync(path)) ?? '';
const viaModule = 'the token host is not running; the PKCS#11 module was used directly';
const service = newKeyId('general');
const caller = newKeyId('caller');
let scratch: ScratchToken;
let host: TokenClient | undefined;

beforeAll(async () => {
  scratch = scratchToken();
  await startHost();
  await host?.createKey(service, 'RSA-2048');
  await host?.createKey(caller, 'P-384');
  execFileSync(
    'pkcs11-tool',
    [
      ...['--module', softhsm, '--login', '--pin', scratch.pin, '--token-label', 'test'],
      ...['--keypairgen', '--key-type', 'EC:prime256v1', '--id', '77', '--label', "somebody else's"],
    ],
    { env: { ...process.env, ...scratch.environment }, stdio: 'ignore' },
  );
});

afterAll(async () => {
  await stopHost();
  scratch.remove();
});

async function startHost(): Promise<void> {
  host = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await host.start();
}

async function ensureHost(): Promise<void> {
  if (host === undefined) await startHost();
}

async function stopHost(): Promise<void> {
  await host?.stop();
  host = undefined;
}

const run = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', scratch.configPath, 'token', ...args]);
const runHere = async (...args: string[]): Promise<CommandRun> => signetctlHere(['--config', scratch.configPath, 'token', ...args]);

describe.each([
  ['by the module itself while no host runs', false],
  ['over the token host that runs', true],
])('the token commands %s', (_name, hosted) => {
  beforeAll(async () => {
    if (hosted) await ensureHost();
    else await stopHost();
  });

  const runText = hosted ? runHere : run;
  const expectGood = ({ status, stderr }: CommandRun, ...notes: readonly string[]): void => {
    const expected = hosted ? notes : [viaModule, ...notes];
    expect(stderr).toBe(expected.map((note) => `signetctl: note: ${note}\n`).join(''));
    expect(status).toBe(0);
  };

  it('slots: marks the configured token and says its state in words', async () => {
    const answer = await runText('slots');
    expectGood(answer);
    const lines = answer.stdout.split('\n');
    expect(lines[0]).toMatch(/^\s+SLOT\s+LABEL\s+SERIAL\s+MODEL\s+STATE$/);
    expect(lines.find((line) => line.startsWith('*'))).toMatch(
      /^\*\s+\d+\s+test\s+[0-9a-f]{16}\s+SoftHSM v2\s+initialised, PIN set, login required$/,
    );
    expect(answer.stdout).toContain('not initialised');
  });

  it('slots --json: the same for programs, as softhsm2-util shows it', async () => {
    const { slots } = jsonOf(await runHere('slots', '--json')) as { slots: { token: { label: string; serial: string } | null }[] };
    const shown = execFileSync('softhsm2-util', ['--show-slots'], { env: { ...process.env, ...scratch.environment }, encoding: 'utf8' });
    for (const { token } of slots) {
      if (token?.label === 'test') expect(shown).toMatch(new RegExp(`Serial number:\\s+${token.serial}\\n`));
    }
    expect(slots.filter(({ token }) => token?.label === 'test').length).toBe(1);
  });

  it('mechanisms: what each can do, and what signetd needs it for', async () => {
    const answer = await runText('mechanisms');
    expectGood(answer);
    expect(answer.stdout).toMatch(/^\*\s+CKM_ECDSA\s+\d+-\d+\s+sign, verify\s+EC signatures$/m);
    expect(answer.stdout).toMatch(/^\s+CKM_SHA512\s+-\s+digest$/m);
    const { mechanisms, missing } = jsonOf(await runHere('mechanisms', '--json')) as { mechanisms: { name: string }[]; missing: string[] };
    expect(missing).toEqual([]);
    const listed = execFileSync('pkcs11-tool', ['--module', softhsm, '--token-label', 'test', '--list-mechanisms'], {
      env: { ...process.env, ...scratch.environment },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(mechanisms.length).toBe(listed.split('\n').filter((line) => line.startsWith('  ')).length);
  });

  it('mechanisms --slot: says that there is no such slot', async () => {
    const answer = await runHere('mechanisms', '--slot', '99');
    expect(answer.status).toBe(3);
    expect(answer.stderr).toBe('signetctl: there is no slot 99\n');
  });

  it('inventory: keys of the service and of callers with their attributes; others are counted', async () => {
    const answer = await runText('inventory');
    const { state } = loadFoundations(scratch.configPath);
    const lost = `signetd is not running, and there is no state store ${state.kind === 'sqlite' ? state.path : ''}`;
    expectGood(answer, `keys made ahead are listed as those of callers: ${lost}`);
    const line = (id: string): string | undefined => answer.stdout.split('\n').find((each) => each.includes(id));
    expect(line(service)).toMatch(/^service\s+private key\s+RSA-2048\s+47[0-9a-f]{32} \(general\)\s+yes\s+no\s+yes\s+signetd$/);
    expect(line(caller)).toMatch(/^caller\s+private key\s+P-384\s+43[0-9a-f]{32}\s+yes\s+no\s+yes\s+signetd$/);
    expect(line(macKeyId)).toContain('(checks passwords)');
    expect(answer.stdout).toContain('2 of the service, 1 of callers, 0 made ahead; other objects: ');
    expect(answer.stdout).toContain('1 × private key');
    const { objects, foreign } = jsonOf(await runHere('inventory', '--json')) as { objects: { id: string }[]; foreign: object };
    expect(objects.map(({ id }) => id).toSorted()).toEqual([service, caller, macKeyId].toSorted());
    expect(foreign).toEqual({ 'private key': 1, 'public key': 1 });
  });

  it('probe: module, token, and that nothing is missing', async () => {
    const answer = await runText('probe');
    expectGood(answer);
    expect(answer.stdout).toMatch(/^module:\s+.*SoftHSM/m);
    expect(answer.stdout).not.toContain('MISSING');
  });
});

describe('the inventory', () => {
  it('has every key once where it takes many answers', async () => {
    await ensureHost();
    const made = Array.from({ length: 210 }, () => newKeyId('caller'));
    for (const id of made) await host?.createKey(id, 'P-256');
    const { objects } = jsonOf(await runHere('inventory', '--json')) as { objects: { id: string }[] };
    const ids = objects.map(({ id }) => id);
    expect(ids.length).toBe(213);
    expect(new Set(ids)).toEqual(new Set([...made, service, caller, macKeyId]));
  });

  it('finds a key that could leave the token', async () => {
    await stopHost();
    const leaky = newKeyId('caller');
    execFileSync(
      'pkcs11-tool',
      [
        ...['--module', softhsm, '--login', '--pin', scratch.pin, '--token-label', 'test', '--extractable'],
        ...['--keypairgen', '--key-type', 'EC:prime256v1', '--id', leaky],
      ],
      { env: { ...process.env, ...scratch.environment }, stdio: 'ignore' },
    );
    const answer = await runHere('inventory');
    expect(answer.status).toBe(1);
    expect(answer.stderr).toContain(`key ${leaky} is extractable: it can leave the token`);
  });
});

describe('token purpose', () => {
  const legacy = `53${'a'.repeat(32)}`;

  it('gives a key of an earlier version its purpose, once, beside the host that runs', async () => {
    await stopHost();
    execFileSync(
      'pkcs11-tool',
      [
        ...['--module', softhsm, '--login', '--pin', scratch.pin, '--token-label', 'test'],
        ...['--keypairgen', '--key-type', 'EC:prime256v1', '--id', legacy],
      ],
      { env: { ...process.env, ...scratch.environment }, stdio: 'ignore' },
    );
    await startHost();
    expect((await runHere('inventory')).stdout).toContain(`${legacy} (no purpose)`);
    const plain = readFileSync(scratch.configPath, 'utf8');
    const unrecorded = await runHere('purpose', '--key-id', legacy, '--purpose', 'authority');
    expect([unrecorded.status, unrecorded.stderr]).toEqual([
      5,
      expect.stringContaining('the purpose was not changed, since the audit log could not'),
    ]);
    const state = { kind: 'sqlite', path: join(scratch.directory, 'state.sqlite') };
    writeFileSync(scratch.configPath, JSON.stringify({ ...(JSON.parse(plain) as object), state }));
    const keyId = `49${'a'.repeat(32)}`;
    const given = await run('purpose', '--key-id', legacy, '--purpose', 'authority');
    expect(given.status).toBe(0);
    expect(given.stdout).toContain(keyId);
    expect(given.stderr).toContain(`replace ${legacy} with this keyId`);
    expect((await runHere('inventory')).stdout).toContain(`${keyId} (authority)`);
    // A command that was cut short after it is repeated.
    expect((await runHere('purpose', '--key-id', legacy, '--purpose', 'authority')).status).toBe(0);
    const other = await runHere('purpose', '--key-id', legacy, '--purpose', 'root');
    writeFileSync(scratch.configPath, plain);
    expect([other.status, other.stderr]).toEqual([5, expect.stringContaining(`no key ${legacy} on the token`)]);
    const value = await host?.signAsService(parseKeyId(keyId), { scheme: 'ECDSA', hash: 'sha256' }, keyTrial);
    expect(value).toHaveLength(64);
  });

  it.each([
    [['--key-id', `49${'a'.repeat(32)}`, '--purpose', 'root'], 'which begins with 53'],
    [['--key-id', macKeyId, '--purpose', 'root'], 'which begins with 53'],
    [['--key-id', legacy, '--purpose', 'general'], '--purpose takes one of root, authority, timeStamps'],
  ])('%j is a wrong command line', async (args, part) => {
    const { status, stderr } = await runHere('purpose', ...args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(part)]);
  });
});

describe('a token that cannot be used', () => {
  const other = (changes: Record<string, unknown>): string => {
    const path = join(scratch.directory, 'other.yaml');
    const { token } = JSON.parse(readFileSync(scratch.configPath, 'utf8')) as { token: Record<string, unknown> };
    writeFileSync(path, JSON.stringify({ token: { ...token, ...changes } }));
    return path;
  };
  const inventoryOf = async (changes: Record<string, unknown>, by = signetctlHere): Promise<CommandRun> =>
    by(['--config', other(changes), 'token', 'inventory']);

  beforeAll(stopHost);

  it('refuses the PIN: told once, in words, and not tried again', async () => {
    const pin = join(scratch.directory, 'wrong-pin');
    writeFileSync(pin, '000000\n', { mode: 0o600 });
    const answer = await inventoryOf({ pin: `file:${pin}` }, signetctl);
    expect(answer).toEqual({
      status: 4,
      stdout: '',
      stderr: 'signetctl: the token refuses the PIN; it was tried once and will not be tried again\n',
    });
  });

  it('has its PIN in a file that others may read', async () => {
    const pin = join(scratch.directory, 'open-pin');
    writeFileSync(pin, '123456\n');
    chmodSync(pin, 0o644);
    const answer = await inventoryOf({ pin: `file:${pin}` });
    expect(answer.status).toBe(78);
    expect(answer.stderr).toContain('chmod 0600');
  });

  it("has its PIN in the service's file, which root may read", async (context) => {
    if (process.geteuid?.() !== 0) context.skip('only root can give a file away');
    const pin = join(scratch.directory, 'services-pin');
    writeFileSync(pin, `${scratch.pin}\n`, { mode: 0o600 });
    chownSync(pin, 12_345, 12_345);
    expect((await inventoryOf({ pin: `file:${pin}` })).stderr).not.toContain('belongs to user');
  });

  it('has a PIN that cannot be one by the profile: it is not tried', async () => {
    const profile = join(scratch.directory, 'own.yaml');
    const pin = { pattern: '^[a-z]+:', form: 'a name, a colon and a password' };
    writeFileSync(profile, JSON.stringify({ vendor: 'Ours', tried: true, source: ['this test'], modulePaths: [softhsm], pin }));
    const answer = await inventoryOf({ profile });
    expect(answer.status).toBe(78);
    expect(answer.stderr).toContain('Ours requires a name, a colon and a password');
    expect(answer.stderr).not.toContain(scratch.pin);
  });

  it.each([
    ['there is no module', { modulePath: '/nowhere/module.so' }, 'there is no file /nowhere/module.so'],
    ['the module is no library', { modulePath: '/etc/hostname' }, 'cannot be loaded'],
    ['no token has the label', { label: 'elsewhere' }, 'no token with the label "elsewhere" found'],
  ])('is not reached: %s', async (_name, changes, text) => {
    const answer = await inventoryOf(changes);
    expect(answer.status).toBe(3);
    expect(answer.stderr).toContain(text);
    expect(answer.stderr.trim().split('\n').length).toBe(1);
  });

  it('crashes: told in words', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-crash-'));
    const source = join(directory, 'crash.c');
    writeFileSync(source, '#include <stdlib.h>\nlong C_GetFunctionList(void **list) { (void)list; abort(); }\n');
    execFileSync('gcc', ['-shared', '-fPIC', '-o', join(directory, 'crash.so'), source]);
    const answer = await inventoryOf({ modulePath: join(directory, 'crash.so') });
    expect(answer.status).toBe(3);
    expect(answer.stderr).toBe('signetctl: the PKCS#11 module cannot be used: it crashed (SIGABRT)\n');
    rmSync(directory, { recursive: true });
  });

  it('has a host that says nothing: the module is left alone', async () => {
    const socketPath = join(scratch.directory, 'mute.sock');
    const mute = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('{"protocol":99}\n');
    });
    await new Promise<void>((resolve) => {
      mute.listen(socketPath, resolve);
    });
    const answer = await inventoryOf({ socketPath });
    mute.close();
    expect(answer.status).toBe(3);
    expect(answer.stderr).toBe('signetctl: the token host speaks another version of its protocol; restart it\n');
  });
});

describe('the command line', () => {
  it.each([
    [['token', 'slots', '--frobnicate'], 'unknown option'],
    [['token', 'eat'], 'unknown command'],
    [['token', 'mechanisms', '--slot', 'one'], '--slot takes a decimal number'],
    [['token', 'init'], "required option '--label <label>'"],
  ])('%j is refused with exit code 2', async (args, text) => {
    const answer = await signetctlHere(args);
    expect(answer.status).toBe(2);
    expect(answer.stderr).toContain(text);
    expect(answer.stdout).toBe('');
  });

  it('says that there is no configuration', async () => {
    const answer = await signetctl(['--config', '/nowhere/signetd.yaml', 'token', 'slots']);
    expect(answer.status).toBe(78);
    expect(answer.stderr).toMatch(/^signetctl: \/nowhere\/signetd.yaml: .*\n$/);
  });

  it('helps with exit code 0', async () => {
    const answer = await signetctlHere(['token', '--help']);
    expect(answer.status).toBe(0);
    for (const name of ['slots', 'mechanisms', 'inventory', 'probe', 'init']) expect(answer.stdout).toContain(name);
  });
});
