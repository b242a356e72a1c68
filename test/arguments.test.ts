import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

const run = (program: string, ...args: readonly string[]) =>
  spawnSync(process.execPath, ['--disable-sigusr1', `dist/${program}.js`, ...args], { encoding: 'utf8' });

it.each([
  ['main', 'signetd'],
  ['token-host', 'token-host'],
])('%s says how it is used, and ends with 64 for arguments that it does not know', (program, name) => {
  const help = run(program, '--help');
  expect([help.status, help.stderr]).toEqual([0, '']);
  expect(help.stdout).toMatch(new RegExp(`^usage: ${name} \\[--config FILE\\]`));
  expect(run(program, '--version').stdout).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\n$`));
  const wrong = run(program, '--confg', 'x');
  expect([wrong.status, wrong.stdout]).toEqual([64, '']);
  expect(wrong.stderr).toMatch(new RegExp(`^${name}: Unknown option '--confg'.*\nusage: ${name} `));
});

it('a configuration that is not there is one line', () => {
  const { status, stderr } = run('main', '--config', '/nowhere/signetd.yaml');
  expect(status).toBe(78);
  expect(stderr).toMatch(/^signetd cannot start: .*\/nowhere\/signetd\.yaml.*\n$/);
});
