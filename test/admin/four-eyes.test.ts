import { execFile, spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { OwnService } from '../support/own-service.ts';
import { signetctl, type CommandRun } from '../support/signetctl.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';
import { until } from '../support/until.ts';

/*
 * Users that every Debian has: `daemon` may give commands; `nobody` and `sync` are in `nogroup`, whose members approve.
 */
const [daemon, nobody, sync, games] = [1, 65_534, 4, 5];
const [daemonGroup, nogroup, gamesGroup] = [1, 65_534, 60];

/** Long enough on a busy machine, where signetctl starts slowly. */
const approvalMinutes = 0.5;
let service: OwnService;
let place: string;
/** A configuration of which everybody may read the section that signetctl needs. */
let adminFile: string;
let original: string;

interface Pending {
  readonly id: string;
  readonly command: string;
  readonly uid: number;
  readonly digest: string;
  readonly details: readonly (readonly [string, string])[];
}

beforeAll(async () => {
  if (notRoot !== undefined) return;
  place = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-'));
  chmodSync(place, 0o755);
  const admin = {
    ...{ socketPath: join(place, 'admin.sock'), access: 'group', group: 'daemon' },
    ...{ approvals: 2, approvers: 'nogroup', approvalSocketPath: join(place, 'approvals.sock'), approvalMinutes },
  };
  adminFile = join(place, 'admin.yaml');
  writeFileSync(adminFile, stringify({ admin }), { mode: 0o644 });
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    original = stringify({ ...(parse(readFileSync(configFile, 'utf8')) as object), admin });
    writeFileSync(configFile, original);
  });
});

afterAll(async () => {
  if (notRoot !== undefined) return;
  await service.remove();
  rmSync(place, { recursive: true, force: true });
});

/** Runs signetctl as a user, with one group. */
async function as(uid: number, gid: number, ...args: string[]): Promise<CommandRun> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--disable-sigusr1', join(process.cwd(), 'dist/cli.js'), '--config', adminFile, ...args],
      { uid, gid, cwd: '/', env: {} },
      (_error, stdout, stderr) => {
        resolve({ status: child.exitCode, stdout, stderr });
      },
    );
  });
}

/** As root, with the whole configuration. */
const asRoot = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...args]);

const Answer = z.looseObject({ outcome: z.string(), faults: z.array(z.string()).optional(), result: z.unknown().optional() });
type Answer = z.output<typeof Answer>;

interface Given {
  readonly answer: Promise<Answer | undefined>;
  readonly pid: number | undefined;
  kill(): void;
}

/** Gives a command by the socket, without signetctl, as a user; the answer is that after any line that says that it waits. */
function give(uid: number, gid: number, socketPath: string, request: object): Given {
  const script = `
    const socket = require('node:net').connect(${JSON.stringify(socketPath)});
    let text = '';
    socket.on('data', (chunk) => { text += chunk; }).on('error', () => {}).on('close', () => process.stdout.write(text));
    socket.write(${JSON.stringify(`${JSON.stringify(request)}\n`)});`;
  const child = spawn(process.execPath, ['--disable-sigusr1', '--eval', script], {
    uid,
    gid,
    cwd: '/',
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const answer = new Promise<Answer | undefined>((resolve) => {
    child.on('close', () => {
      const last = text.trim().split('\n').at(-1) ?? '';
      const parsed = Answer.safeParse(text.includes('outcome') ? JSON.parse(last) : undefined);
      resolve(parsed.data);
    });
  });
  return { answer, pid: child.pid, kill: () => child.kill('SIGKILL') };
}

const adminPath = (): string => join(place, 'admin.sock');
const approvalPath = (): string => join(place, 'approvals.sock');

async function waiting(): Promise<Pending[]> {
  const answer = await give(nobody, nogroup, approvalPath(), { command: 'approvals' }).answer;
  return answer?.result as Pending[];
}

/** Waits until one command waits. */
async function theOne(): Promise<Pending> {
  let found: Pending | undefined;
  await until(
    async () => {
      [found] = await waiting();
      expect(found).toBeDefined();
    },
    { timeoutMs: 60_000 },
  );
  if (found === undefined) throw new Error('one waits');
  return found;
}

const decide = (uid: number, gid: number, command: 'approve' | 'refuse', { id, digest }: Pick<Pending, 'id' | 'digest'>): Given =>
  give(uid, gid, approvalPath(), { command, id, digest });

interface AuditRecord {
  readonly command?: string;
  readonly uid?: number;
  readonly client?: string;
  readonly fault?: string;
  readonly approvals?: number;
  readonly approval?: { readonly id: string; readonly command: string; readonly asked: number; readonly approved?: number };
  readonly kind: string;
  readonly certificate?: { readonly subject: string };
}

function records(): AuditRecord[] {
  const directory = join(service.environment.directory, 'audit');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as AuditRecord);
}

const recordsOf = (id: string): string[] =>
  records()
    .filter(({ approval }) => approval?.id === id)
    .map(
      ({ command, uid, approval }) => `${command} by ${uid}, asked by ${approval?.asked}, approved by ${approval?.approved ?? 'nobody'}`,
    );

/** The registration of a client of the quickstart again. */
function addClient(name: string, roles = ['signature']): object {
  const pem = readFileSync(service.description.clients['unregistered']?.certificate ?? '', 'utf8');
  const certificate = pem.replace(/-----[^-]+-----/g, '').replaceAll(/\s/g, '');
  return { command: 'client add', certificate, name, tenant: 'demo', roles, replace: true };
}

async function clientNames(): Promise<string[]> {
  const answer = await give(0, 0, adminPath(), { command: 'client list' }).answer;
  return z
    .array(z.looseObject({ name: z.string() }))
    .parse(answer?.result)
    .map(({ name }) => name);
}

describe.skipIf(notRoot !== undefined)(`with admin.approvals: 2${skipNote(notRoot)}`, () => {
  it('a command waits for a user of the other group, and its record names both, twice in a row', async () => {
    for (const name of ['first', 'second']) {
      const given = give(daemon, daemonGroup, adminPath(), addClient(name));
      const pending = await theOne();
      expect([pending.command, pending.uid]).toEqual(['client add', daemon]);
      expect(Object.fromEntries(pending.details)).toMatchObject({
        'registers, or replaces': `the client "${name}"`,
        tenant: 'demo',
        roles: 'signature',
      });
      expect(await clientNames()).not.toContain(name);
      expect(await decide(nobody, nogroup, 'approve', pending).answer).toMatchObject({ outcome: 'done' });
      expect(await given.answer).toMatchObject({ outcome: 'done', result: { name } });
      expect(await clientNames()).toContain(name);
      expect(recordsOf(pending.id)).toEqual([
        `approval request by ${daemon}, asked by ${daemon}, approved by nobody`,
        `approve by ${nobody}, asked by ${daemon}, approved by ${nobody}`,
        `client add by ${daemon}, asked by ${daemon}, approved by ${nobody}`,
      ]);
      expect(await decide(sync, nogroup, 'approve', pending).answer).toMatchObject({ outcome: 'refused' });
    }
    expect(records().findLast(({ kind }) => kind === 'start')?.approvals).toBe(2);
  });

  it('nobody approves their own command, also in both groups, and no member of the first group or stranger any', async () => {
    // In both groups: it opens the one socket by its group, and is in the group of approvers.
    const given = give(nobody, daemonGroup, adminPath(), addClient('own'));
    const pending = await theOne();
    expect(await decide(nobody, nogroup, 'approve', pending).answer).toMatchObject({
      faults: [`user ${nobody} asked for ${pending.id}: another user must decide`],
    });
    // Root opens every socket; a user whose group was forged, or was taken away, does not get through either.
    expect(await decide(games, nogroup, 'approve', pending).answer).toMatchObject({
      faults: [expect.stringContaining(`user ${games} is not in the group nogroup`)],
    });
    expect(await decide(daemon, daemonGroup, 'approve', pending).answer).toBeUndefined();
    expect(await give(games, gamesGroup, adminPath(), { command: 'status' }).answer).toBeUndefined();
    expect(
      await give(daemon, daemonGroup, adminPath(), { command: 'approve', id: pending.id, digest: pending.digest }).answer,
    ).toMatchObject({ outcome: 'refused' });
    expect(await give(nobody, nogroup, approvalPath(), addClient('sneaked')).answer).toMatchObject({
      faults: [expect.stringContaining('only approvals')],
    });
    expect(await decide(sync, nogroup, 'approve', { ...pending, digest: '0'.repeat(64) }).answer).toMatchObject({
      faults: [expect.stringContaining('another digest')],
    });
    expect(await clientNames()).not.toContain('own');
    expect(await decide(sync, nogroup, 'refuse', pending).answer).toMatchObject({ outcome: 'done' });
    expect(await given.answer).toEqual({
      outcome: 'not approved',
      faults: [`user ${sync} refused request ${pending.id}; nothing was done`],
    });
    expect(recordsOf(pending.id).at(-1)).toBe(`refuse by ${sync}, asked by ${nobody}, approved by nobody`);
    expect(await clientNames()).not.toContain('own');
  });

  it('root asks or approves, never both', async () => {
    const given = give(0, 0, adminPath(), addClient('of root'));
    const pending = await theOne();
    expect(await decide(0, 0, 'approve', pending).answer).toMatchObject({ outcome: 'refused' });
    expect(await decide(nobody, nogroup, 'approve', pending).answer).toMatchObject({ outcome: 'done' });
    expect(await given.answer).toMatchObject({ outcome: 'done' });
    const other = give(daemon, daemonGroup, adminPath(), addClient('by root'));
    expect(await decide(0, 0, 'approve', await theOne()).answer).toMatchObject({ outcome: 'done' });
    expect(await other.answer).toMatchObject({ outcome: 'done' });
  });

  it('of two decisions at once, one counts, and the command is done once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const given = give(daemon, daemonGroup, adminPath(), addClient(`round ${round}`));
      const pending = await theOne();
      const answers = await Promise.all([
        decide(nobody, nogroup, 'approve', pending).answer,
        decide(sync, nogroup, 'refuse', pending).answer,
        decide(0, 0, 'approve', pending).answer,
      ]);
      expect(answers.filter((answer) => answer?.outcome === 'done')).toHaveLength(1);
      const isRefused = answers[1]?.outcome === 'done';
      expect((await given.answer)?.outcome).toBe(isRefused ? 'not approved' : 'done');
      const own = records().filter(({ command, approval }) => command === 'client add' && approval?.id === pending.id);
      expect(own).toHaveLength(isRefused ? 0 : 1);
    }
  });

  it('a command whose user goes away, or that nobody approves, is not done, and both are recorded', async () => {
    const given = give(daemon, daemonGroup, adminPath(), addClient('withdrawn'));
    const first = await theOne();
    given.kill();
    await until(
      async () => {
        expect(await waiting()).toEqual([]);
      },
      { timeoutMs: 60_000 },
    );
    expect(await decide(nobody, nogroup, 'approve', first).answer).toMatchObject({ outcome: 'refused' });
    await until(
      () => {
        expect(recordsOf(first.id).at(-1)).toContain('approval withdrawn');
      },
      { timeoutMs: 60_000 },
    );
    const late = give(daemon, daemonGroup, adminPath(), addClient('late'));
    const second = await theOne();
    expect(await late.answer).toEqual({
      outcome: 'not approved',
      faults: [`nobody approved request ${second.id} within ${approvalMinutes} minutes; nothing was done`],
    });
    expect(recordsOf(second.id).at(-1)).toBe(`approval expired by ${daemon}, asked by ${daemon}, approved by nobody`);
    expect(await clientNames()).not.toContain('late');
    expect(await clientNames()).not.toContain('withdrawn');
  });

  it('an approver whose connection hangs keeps nobody out', async () => {
    const silent: Socket[] = Array.from({ length: 20 }, () => createConnection(approvalPath()).on('error', () => undefined));
    const given = give(daemon, daemonGroup, adminPath(), addClient('despite'));
    expect(await decide(nobody, nogroup, 'approve', await theOne()).answer).toMatchObject({ outcome: 'done' });
    expect(await given.answer).toMatchObject({ outcome: 'done' });
    for (const socket of silent) socket.destroy();
  });

  it('what reads, or ends rights, waits for nobody', async () => {
    const given = give(daemon, daemonGroup, adminPath(), addClient('to be revoked'));
    await decide(nobody, nogroup, 'approve', await theOne()).answer;
    await given.answer;
    for (const request of [
      { command: 'client list' },
      { command: 'key list' },
      { command: 'client revoke', client: 'to be revoked' },
      { command: 'client reload' },
    ])
      expect(await give(daemon, daemonGroup, adminPath(), request).answer).toMatchObject({ outcome: 'done' });
  });

  it('removing records of the audit log waits too', async () => {
    const given = give(daemon, daemonGroup, adminPath(), { command: 'audit prune', before: 1000 });
    const pending = await theOne();
    expect(pending.details).toEqual([['removes', 'all files of the audit log whose records are older than 1970-01-01T00:00:01.000Z']]);
    await decide(nobody, nogroup, 'approve', pending).answer;
    expect(await given.answer).toMatchObject({ outcome: 'done' });
  });

  it('a new MAC key waits for nobody, and destroying the former one for a second user, who may refuse', async () => {
    expect(await give(daemon, daemonGroup, adminPath(), { command: 'mac rotate' }).answer).toMatchObject({ outcome: 'done' });
    const given = give(daemon, daemonGroup, adminPath(), { command: 'mac destroy', force: true });
    const pending = await theOne();
    expect([pending.command, ...pending.details.map(([, what]) => what)]).toEqual([
      'mac destroy-former',
      'the former MAC keys on the token',
      'yes: those secrets are lost',
    ]);
    await decide(nobody, nogroup, 'refuse', pending).answer;
    expect(await given.answer).toMatchObject({ outcome: 'not approved' });
  });
});

describe.skipIf(notRoot !== undefined)(`signetctl with admin.approvals: 2${skipNote(notRoot)}`, () => {
  let output: string;
  beforeEach(() => {
    output = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-out-'));
  });
  afterEach(() => {
    rmSync(output, { recursive: true, force: true });
  });

  const certify = (file: string): string[] => [
    'ca',
    'certify',
    '--authority',
    'issuing',
    '--by',
    'root',
    '--directory',
    output,
    '--file',
    file,
  ];

  it('signs a CA certificate once the very certificate is approved, twice in a row', async () => {
    for (const file of ['one.pem', 'two.pem']) {
      const run = asRoot(...certify(file));
      const { id, digest, details } = await theOne();
      const shown = Object.fromEntries(details);
      expect(shown).toMatchObject({ signs: 'a certificate', subject: expect.stringContaining('CN=') as unknown });
      expect(shown['with the key']).toContain('(CA root)');
      expect(readdirSync(output)).not.toContain(file);
      const listed = await as(nobody, nogroup, 'approvals');
      expect(listed.stdout).toContain(`request       ${id}`.replace(/ +/, ' ').split(' ')[1] ?? id);
      expect(listed.stdout).toContain(shown['serial number'] ?? 'absent');
      const approved = await as(nobody, nogroup, 'approve', id, '--digest', digest);
      expect([approved.status, approved.stdout, approved.stderr]).toEqual([0, `Request ${id} is approved.\n`, '']);
      const { status, stderr, stdout } = await run;
      expect([status, stderr]).toEqual([0, expect.stringContaining(`runs: signetctl approve ${id}`)]);
      expect(stdout).toContain((shown['serial number'] ?? 'absent').replace(/^00/, ''));
      expect(recordsOf(id).at(-1)).toBe(`ca certify by 0, asked by 0, approved by ${nobody}`);
    }
  });

  it('ends with 9 and leaves nothing where a user refuses, and with 130 where it is interrupted', async () => {
    const run = asRoot(...certify('refused.pem'));
    const { id, digest } = await theOne();
    expect((await as(nobody, nogroup, 'refuse', id, '--digest', digest)).status).toBe(0);
    const refused = await run;
    expect([refused.status, refused.stderr]).toEqual([9, expect.stringContaining(`user ${nobody} refused request ${id}`)]);
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('signetd-operator-'));
    const child = spawn(
      process.execPath,
      ['--disable-sigusr1', 'dist/cli.js', '--config', service.description.configFile, ...certify('interrupted.pem')],
      { stdio: 'ignore' },
    );
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    await theOne();
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(await waiting()).toEqual([]);
    expect(readdirSync(output)).toEqual([]);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('signetd-operator-') && !before.includes(name))).toEqual([]);
  });

  it('asks for the terminal or the digest, and says what is wrong', async () => {
    const given = give(daemon, daemonGroup, adminPath(), addClient('asked'));
    const { id } = await theOne();
    const blind = await as(nobody, nogroup, 'approve', id);
    expect([blind.status, blind.stderr]).toEqual([2, expect.stringContaining('look at signetctl approvals, and give --digest')]);
    expect((await as(nobody, nogroup, 'approve', 'aaaaaaaa', '--digest', '0'.repeat(64))).status).toBe(5);
    expect((await as(nobody, nogroup, 'approve', id, '--digest', 'short')).status).toBe(2);
    given.kill();
  });

  it('a restart forgets what waits, and the command ends', async () => {
    for (let round = 0; round < 2; round += 1) {
      const run = asRoot(...certify('restarted.pem'));
      const { id, digest } = await theOne();
      await service.daemon.stop();
      const { status, stderr } = await run;
      expect([status, stderr]).toEqual([9, expect.stringContaining(`signetd is stopping; request ${id} is forgotten`)]);
      await service.daemon.start();
      expect(await waiting()).toEqual([]);
      expect(await decide(nobody, nogroup, 'approve', { id, digest }).answer).toMatchObject({ outcome: 'refused' });
      expect(recordsOf(id).at(-1)).toContain('approval withdrawn');
    }
  });

  it('a state store that is older than the log is confirmed only by two, twice in a row', async () => {
    for (let round = 0; round < 2; round += 1) {
      await service.daemon.stop();
      const { directory } = service.environment;
      const files = readdirSync(directory).filter((name) => /^state\.sqlite(?:-wal|-shm)?$/.test(name));
      for (const name of files) copyFileSync(join(directory, name), join(output, name));
      await service.daemon.start();
      const [client] = await clientNames();
      const given = give(daemon, daemonGroup, adminPath(), { command: 'client revoke', client });
      expect(await given.answer).toMatchObject({ outcome: 'done' });
      await service.daemon.stop();
      for (const name of readdirSync(directory)) if (name.startsWith('state.sqlite')) rmSync(join(directory, name));
      for (const name of files) copyFileSync(join(output, name), join(directory, name));
      expect((await service.daemon.startAndAsk()).text).toContain('older than the audit log');
      const refused = give(0, 0, adminPath(), { command: 'state confirm' });
      expect(await decide(nobody, nogroup, 'refuse', await theOne()).answer).toMatchObject({ outcome: 'done' });
      expect((await refused.answer)?.outcome).toBe('not approved');
      const confirmed = give(0, 0, adminPath(), { command: 'state confirm' });
      const pending = await theOne();
      expect(await decide(0, 0, 'approve', pending).answer).toMatchObject({ outcome: 'refused' });
      expect(pending.details[0]).toEqual(['accepts', expect.stringContaining('older than the audit log')]);
      expect(await decide(nobody, nogroup, 'approve', pending).answer).toMatchObject({ outcome: 'done' });
      expect(await confirmed.answer).toMatchObject({ outcome: 'done' });
      expect(await service.daemon.ended()).toBe(0);
      await service.daemon.start();
      expect(recordsOf(pending.id)).toEqual([`state confirm by 0, asked by 0, approved by ${nobody}`]);
      expect(await clientNames()).not.toContain(client);
    }
  });

  it('refuses, with the service stopped, what nobody could approve', async () => {
    await service.daemon.stop();
    try {
      const files = ['--directory', output, '--name', 'alone', '--country', 'FR', '--organization', 'O', '--common-name', 'Alone'];
      for (const command of [certify('alone.pem'), ['ca', 'issue', '--by', 'root', ...files], ['ca', 'request', ...files]]) {
        const { status, stderr } = await asRoot(...command);
        expect([status, stderr]).toEqual([9, expect.stringContaining('must be approved by another user (admin.approvals)')]);
      }
      expect(readdirSync(output)).toEqual([]);
    } finally {
      await service.daemon.start();
    }
  });
});
