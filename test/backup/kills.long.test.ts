import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OwnService } from '../support/own-service.ts';
import { signetctl } from '../support/signetctl.ts';
import { repetitions } from '../support/repetitions.ts';
import { Operator } from './operator.ts';

let service: OwnService;
let operator: Operator;

beforeAll(async () => {
  operator = new Operator();
  service = await OwnService.start();
});

afterAll(async () => {
  await service.remove();
  operator.remove();
});

const leftovers = (): string[] => [
  ...readdirSync(service.environment.directory).filter((name) => name.endsWith('.backup')),
  ...readdirSync(operator.directory).filter((name) => name.endsWith('.part')),
];

it('a kill of backup create at any moment leaves no file or a whole one, and the next run removes what it left', async () => {
  const backup = operator.file('backup.age');
  const args = ['--config', service.description.configFile, 'backup', 'create', '--output', backup, '--recipient', operator.recipient];
  let killed = 0;
  for (let round = 0; round < repetitions(3); round += 1) {
    const child = spawn(process.execPath, ['--disable-sigusr1', 'dist/cli.js', ...args], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    // Any moment from the start of the program to after its end.
    await delay(randomInt(0, 900));
    child.kill('SIGKILL');
    await ended;
    if (!existsSync(backup)) {
      killed += 1;
      continue;
    }
    const verified = await signetctl(['backup', 'verify', backup, '--identity', operator.identity]);
    expect([verified.status, verified.stderr]).toEqual([0, expect.stringContaining('not in the backup')]);
    rmSync(backup);
  }
  const last = await signetctl(args);
  expect([killed >= 0, last.status, leftovers()]).toEqual([true, 0, []]);
}, 600_000);

it('an interrupt leaves nothing', async () => {
  const backup = operator.file('interrupted.age');
  const args = ['--config', service.description.configFile, 'backup', 'create', '--output', backup, '--recipient', operator.recipient];
  for (let round = 0; round < repetitions(5); round += 1) {
    const child = spawn(process.execPath, ['--disable-sigusr1', 'dist/cli.js', ...args], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await expect.poll(() => leftovers().length > 0 || child.exitCode !== null, { interval: 1, timeout: 60_000 }).toBe(true);
    await delay(randomInt(0, 20));
    child.kill('SIGTERM');
    await ended;
    expect([existsSync(backup) && child.exitCode !== 0, leftovers()]).toEqual([false, []]);
    rmSync(backup, { force: true });
  }
}, 600_000);
