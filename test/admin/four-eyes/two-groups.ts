import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { OwnService } from '../../support/own-service.ts';
import type { QuickstartEnvironment } from '../../support/quickstart-environment.ts';
import { signetctl, type CommandRun } from '../../support/signetctl.ts';
import { until } from '../../support/until.ts';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/*
 * Users that every Debian has. `daemon` may give commands. `nobody` and `sync` are in `nogroup`, whose members approve. `games` is
 * in neither group.
 */
export const daemon: User = { uid: 1, gid: 1 };
export const nobody: User = { uid: 65_534, gid: 65_534 };
export const sync: User = { uid: 4, gid: 65_534 };
export const games: User = { uid: 5, gid: 60 };
export const root: User = { uid: 0, gid: 0 };

/** Long enough on a busy machine, where signetctl starts slowly. */
const usualMinutes = 5;
const patience = { timeoutMs: 120_000 };

const Pending = z.looseObject({
  id: z.string(),
  command: z.string(),
  uid: z.int(),
  digest: z.string(),
  details: z.array(z.tuple([z.string(), z.string()])),
});
export type Pending = z.output<typeof Pending>;

const Answer = z.looseObject({ outcome: z.string(), faults: z.array(z.string()).optional(), result: z.unknown().optional() });
type Answer = z.output<typeof Answer>;

const AuditRecord = z.looseObject({
  kind: z.string(),
  command: z.string().optional(),
  uid: z.int().optional(),
  approvals: z.int().optional(),
  approval: z.looseObject({ id: z.string(), command: z.string(), asked: z.int(), approved: z.int().optional() }).optional(),
});
type AuditRecord = z.output<typeof AuditRecord>;

/** A command that was given by the socket, without signetctl. */
export interface Given {
  /** The answer after any line that says that it waits; undefined where the connection ends without one. */
  readonly answer: Promise<Answer | undefined>;
  kill(): void;
}

/** A service with `admin.approvals: 2`: the group `daemon` gives commands, and the group `nogroup` approves them. */
export class TwoGroups {
  readonly service: OwnService;
  readonly adminPath: string;
  readonly approvalPath: string;
  readonly #place: string;
  /** A configuration of which everybody may read the section that signetctl needs. */
  readonly #adminFile: string;

  private constructor(service: OwnService, place: string, adminFile: string) {
    this.service = service;
    this.#place = place;
    this.#adminFile = adminFile;
    this.adminPath = join(place, 'admin.sock');
    this.approvalPath = join(place, 'approvals.sock');
  }

  /** `prepare` is called before the service starts. */
  static async start({
    approvalMinutes = usualMinutes,
    prepare = () => undefined,
  }: { readonly approvalMinutes?: number; readonly prepare?: (environment: QuickstartEnvironment) => void } = {}): Promise<TwoGroups> {
    const place = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-'));
    chmodSync(place, 0o755);
    const admin = {
      ...{ socketPath: join(place, 'admin.sock'), access: 'group', group: 'daemon' },
      ...{ approvals: 2, approvers: 'nogroup', approvalSocketPath: join(place, 'approvals.sock'), approvalMinutes },
    };
    const adminFile = join(place, 'admin.yaml');
    writeFileSync(adminFile, stringify({ admin }), { mode: 0o644 });
    const service = await OwnService.start((environment) => {
      prepare(environment);
      const { configFile } = environment.description();
      writeFileSync(configFile, stringify({ ...(parse(readFileSync(configFile, 'utf8')) as object), admin }));
    });
    return new TwoGroups(service, place, adminFile);
  }

  async remove(): Promise<void> {
    await this.service.remove();
    rmSync(this.#place, { recursive: true, force: true });
  }

  /** The command line of signetctl for a user who may read nothing but `admin` of the configuration. */
  commandLine(...args: string[]): string[] {
    return [process.execPath, '--disable-sigusr1', join(process.cwd(), 'dist/cli.js'), '--config', this.#adminFile, ...args];
  }

  /** That of root, who reads the whole configuration. */
  rootCommandLine(...args: string[]): string[] {
    const { configFile } = this.service.description;
    return [process.execPath, '--disable-sigusr1', join(process.cwd(), 'dist/cli.js'), '--config', configFile, ...args];
  }

  /** Runs signetctl as a user, with one group. */
  async as({ uid, gid }: User, ...args: string[]): Promise<CommandRun> {
    const [node = '', ...rest] = this.commandLine(...args);
    return new Promise((resolve) => {
      const child = execFile(node, rest, { uid, gid, cwd: '/', env: {} }, (_error, stdout, stderr) => {
        resolve({ status: child.exitCode, stdout, stderr });
      });
    });
  }

  /** As root, with the whole configuration. */
  async asRoot(...args: string[]): Promise<CommandRun> {
    return signetctl(['--config', this.service.description.configFile, ...args]);
  }

  give(user: User, request: object): Given {
    return send(user, this.adminPath, request);
  }

  /** Gives a command by the socket for approvals. */
  giveToApprovals(user: User, request: object): Given {
    return send(user, this.approvalPath, request);
  }

  async decide(user: User, command: 'approve' | 'refuse', { id, digest }: Pick<Pending, 'id' | 'digest'>): Promise<Answer | undefined> {
    return this.giveToApprovals(user, { command, id, digest }).answer;
  }

  async waiting(): Promise<Pending[]> {
    const answer = await this.giveToApprovals(root, { command: 'approvals' }).answer;
    return z.array(Pending).parse(answer?.result);
  }

  /** Waits until so many commands wait. */
  async these(count: number): Promise<Pending[]> {
    let found: Pending[] = [];
    await until(async () => {
      found = await this.waiting();
      if (found.length !== count) throw new Error(`${found.length} commands wait, not ${count}`);
    }, patience);
    return found;
  }

  /** Waits until one command waits. */
  async theOne(): Promise<Pending> {
    const [one] = await this.these(1);
    if (one === undefined) throw new Error('one waits');
    return one;
  }

  records(): AuditRecord[] {
    const directory = join(this.service.environment.directory, 'audit');
    return readdirSync(directory)
      .filter((name) => name.endsWith('.jsonl'))
      .toSorted()
      .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1))
      .map((line) => AuditRecord.parse(JSON.parse(line)));
  }

  /** The records of a request, in words. */
  recordsOf(id: string): string[] {
    return this.records()
      .filter(({ approval }) => approval?.id === id)
      .map(
        ({ command, uid, approval }) => `${command} by ${uid}, asked by ${approval?.asked}, approved by ${approval?.approved ?? 'nobody'}`,
      );
  }

  /** The request that registers a client of the quickstart, again where `replace` says so. */
  addClient(name: string, { replace = true }: { readonly replace?: boolean } = {}): object {
    const pem = readFileSync(this.service.description.clients['unregistered']?.certificate ?? '', 'utf8');
    const certificate = pem.replace(/-----[^-]+-----/g, '').replaceAll(/\s/g, '');
    return { command: 'client add', certificate, name, tenant: 'demo', roles: ['signature'], replace };
  }

  async clientNames(): Promise<string[]> {
    const answer = await this.give(root, { command: 'client list' }).answer;
    return z
      .array(z.looseObject({ name: z.string() }))
      .parse(answer?.result)
      .map(({ name }) => name);
  }
}

/** Has a command approved each time that it waits, until it has succeeded. Answers what waited: once. */
export async function approvedOnce(two: TwoGroups, command: Promise<CommandRun>): Promise<Pending> {
  const asked: Pending[] = [];
  const ended = { is: false };
  void command.then(() => {
    ended.is = true;
  });
  while (!ended.is) {
    for (const pending of await two.waiting()) {
      asked.push(pending);
      await two.decide(nobody, 'approve', pending);
    }
  }
  const { status, stderr } = await command;
  const [once, ...more] = asked;
  if (status !== 0 || once === undefined || more.length > 0)
    throw new Error(`it waited ${asked.length} times, and ended with ${status}: ${stderr}`);
  return once;
}

/** Sends one request as a user. */
function send(user: User, socketPath: string, request: object): Given {
  const line = `${JSON.stringify(request)}\n`;
  const isHere = user.uid === process.getuid?.() && user.gid === process.getgid?.();
  const sent = isHere ? sendHere(socketPath, line) : sendFrom(user, socketPath, line);
  const answer = sent.said.then((text) => {
    const last = text.trim().split('\n').at(-1) ?? '';
    return text.includes('outcome') ? Answer.safeParse(JSON.parse(last)).data : undefined;
  });
  return {
    answer,
    kill: () => {
      sent.kill();
    },
  };
}

interface Sent {
  /** All that the service said before the connection ended. */
  readonly said: Promise<string>;
  kill(): void;
}

/** From this process, which costs no start of another. */
function sendHere(socketPath: string, line: string): Sent {
  const socket = createConnection(socketPath);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  const said = new Promise<string>((resolve) => {
    socket.on('close', () => {
      resolve(text);
    });
  });
  socket.write(line);
  return { said, kill: () => socket.destroy() };
}

function sendFrom({ uid, gid }: User, socketPath: string, line: string): Sent {
  const script = `
    const socket = require('node:net').connect(${JSON.stringify(socketPath)});
    let text = '';
    socket.on('data', (chunk) => { text += chunk; }).on('error', () => {}).on('close', () => process.stdout.write(text));
    socket.write(${JSON.stringify(line)});`;
  const child = spawn(process.execPath, ['--disable-sigusr1', '--eval', script], {
    ...{ uid, gid, cwd: '/', env: {} },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const said = new Promise<string>((resolve) => {
    child.on('close', () => {
      resolve(text);
    });
  });
  return { said, kill: () => child.kill('SIGKILL') };
}
