import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { call, codeOf, description, newKey, secretOf } from '../support/api.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-guarded-'));
const started: ChildProcess[] = [];
afterAll(async () => {
  for (const child of started) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  rmSync(directory, { recursive: true, force: true });
});

const inspectorPort = 9229;
const signalUser1 = 10;
/** Who is not root, so that root as the owner of a file in /proc says something. */
const other = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const nameOf = (pid: number): string => readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
/** Whether a signal is in a set of a process (proc(5), /proc/pid/status: SigIgn, SigCgt). */
function isIn(set: 'SigIgn' | 'SigCgt', pid: number): boolean {
  const [, mask = ''] = new RegExp(`^${set}:\\s+([0-9a-f]+)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return ((BigInt(`0x${mask}`) >> BigInt(signalUser1 - 1)) & 1n) === 1n;
}
const listens = (port: number): boolean =>
  ['/proc/net/tcp', '/proc/net/tcp6'].some((table) =>
    readFileSync(table, 'utf8')
      .split('\n')
      .some((line) => line.includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} `) && / 0A /.test(line)),
  );

describe('SIGUSR1', () => {
  it('opens no inspector in the daemon nor in the token host, and both go on', async () => {
    const key = await newKey('app');
    const { pid } = z.object({ pid: z.int() }).parse(await (await fetch(`${description.opsUrl}/health/ready`)).json());
    const host = childrenOf(pid).find((child) => nameOf(child) === 'signetd-token') ?? 0;
    expect(nameOf(pid)).toBe('signetd');
    for (const one of [pid, host]) {
      expect(isIn('SigIgn', one)).toBe(true);
      expect(isIn('SigCgt', one)).toBe(false);
      process.kill(one, 'SIGUSR1');
    }
    expect(codeOf(await call('app', 'pki/checkKey', { keyReference: secretOf(key) }))).toBe('0/0');
    expect(listens(inspectorPort)).toBe(false);
    expect([nameOf(pid), nameOf(host)]).toEqual(['signetd', 'signetd-token']);
  });
});

describe('another process of the same user', () => {
  /** Starts a program that waits, since nobody writes its configuration. */
  function waiting(program: string, ...flags: readonly string[]): number {
    const pipe = join(directory, `${started.length}.yaml`);
    execFileSync('mkfifo', ['-m', '0666', pipe]);
    const child = spawn(process.execPath, ['--disable-sigusr1', ...flags, `dist/${program}.js`, '--config', pipe], {
      ...other,
      stdio: 'ignore',
    });
    started.push(child);
    return child.pid ?? 0;
  }

  it.each([
    ['daemon', 'main', 'signetd', []],
    ['token host', 'token-host', 'signetd-token', ['--jitless']],
  ] as const)('can neither trace the %s nor read its memory', async (_what, program, name, flags) => {
    execFileSync('chmod', ['0755', directory]);
    const pid = waiting(program, ...flags);
    await expect.poll(() => nameOf(pid)).toBe(name);
    // The kernel gives the files of a process to root that must not be dumped (proc(5), /proc/pid).
    await expect.poll(() => statSync(`/proc/${pid}/mem`).uid).toBe(0);
    const copy = `require('node:fs').openSync('/proc/${pid}/mem')`;
    expect(() => execFileSync(process.execPath, ['--disable-sigusr1', '-e', copy], { ...other, stdio: 'pipe' })).toThrow(/EACCES/);
    // Without the guard, the same user can.
    const open = spawn('sleep', ['600'], other);
    started.push(open);
    const own = `require('node:fs').openSync('/proc/${open.pid}/mem')`;
    execFileSync(process.execPath, ['--disable-sigusr1', '-e', own], { ...other, stdio: 'pipe' });
  });
});
