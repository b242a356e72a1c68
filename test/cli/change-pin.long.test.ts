import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { OwnService } from '../support/own-service.ts';
import { signetctl, type CommandRun } from '../support/signetctl.ts';

let service: OwnService;
let pinFile: string;
let newPin: string;

beforeAll(async () => {
  service = await OwnService.start();
  const { token } = parse(readFileSync(service.description.configFile, 'utf8')) as { token: { pin: string } };
  pinFile = join(service.environment.directory, token.pin.replace(/^file:/, '').replace(service.environment.directory, ''));
  newPin = join(service.environment.directory, 'new-pin');
}, 300_000);
afterAll(async () => {
  await service.remove();
});

const ctl = async (...command: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...command]);
const choose = (pin: string): void => {
  writeFileSync(newPin, pin, { mode: 0o600 });
};
const change = async (): Promise<CommandRun> => ctl('token', 'change-pin', '--new-pin', `file:${newPin}`);

/** The whole audit log, and how many times it has the command. */
function recorded(): { readonly text: string; readonly times: number } {
  const directory = join(service.environment.directory, 'audit');
  const text = readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('');
  return { text, times: text.split('"command":"token change-pin"').length - 1 };
}

it.each(['135791357', '246802468'])('changes the PIN on the token and in its file, and is recorded, to %s', async (pin) => {
  const { times } = recorded();
  choose(pin);
  expect((await change()).stderr).toContain('the token host is running');
  await service.daemon.stop();
  const changed = await change();
  expect([changed.status, changed.stdout]).toEqual([0, expect.stringContaining('The PIN was changed')]);
  expect(readFileSync(pinFile, 'utf8')).toBe(pin);
  await service.daemon.start();
  expect([recorded().times, recorded().text.includes(pin)]).toEqual([times + 1, false]);
  const found = await ctl('audit', 'find', '--since', '2020-01-01');
  expect(found.stdout, found.stderr).toContain('token change-pin');
  expect((await ctl('audit', 'verify')).status).toBe(0);
});

it('changes nothing if nobody can record it, twice in a row', async () => {
  const present = readFileSync(pinFile, 'utf8');
  const store = join(service.environment.directory, 'state.sqlite');
  await service.daemon.stop();
  choose('975318642');
  renameSync(store, `${store}.away`);
  for (const unusable of [() => undefined, () => mkdirSync(store)]) {
    unusable();
    const refused = await change();
    expect([refused.status, refused.stderr]).toEqual([
      5,
      expect.stringContaining('the PIN was not changed, since the audit log could not'),
    ]);
    expect([readFileSync(pinFile, 'utf8'), existsSync(`${pinFile}.next`)]).toEqual([present, false]);
  }
  rmSync(store, { recursive: true });
  renameSync(`${store}.away`, store);
  await service.daemon.start();
});

it('refuses a PIN that the token does not accept, and the present one, and changes nothing', async () => {
  const present = readFileSync(pinFile, 'utf8');
  await service.daemon.stop();
  choose('12');
  expect(await change()).toMatchObject({
    status: expect.not.stringMatching('^0$') as unknown,
    stderr: expect.stringContaining('the token accepts') as unknown,
  });
  choose(present);
  expect((await change()).stderr).toContain('this is the present PIN');
  expect((await ctl('token', 'change-pin')).stderr).toContain('--new-pin is required');
  await service.daemon.start();
});

it.each(['before the token had it', 'after the token had it'])('an interrupted change is finished by a repetition: %s', async (when) => {
  const { times } = recorded();
  const present = readFileSync(pinFile, 'utf8');
  const next = `${when === 'before the token had it' ? '777' : '888'}123456`;
  await service.daemon.stop();
  choose(next);
  if (when === 'after the token had it') {
    expect((await change()).status).toBe(0);
    // As a kill leaves it.
    writeFileSync(pinFile, present, { mode: 0o600 });
    // The old PIN is not presented again.
    const started = await service.daemon.start().then(
      () => 'it started',
      () => 'it did not start',
    );
    expect(started).toBe('it did not start');
    await service.daemon.stop();
  }
  writeFileSync(`${pinFile}.next`, next, { mode: 0o600 });
  choose('999123456');
  expect((await change()).stderr).toContain('an interrupted change left another new PIN');
  const finished = await ctl('token', 'change-pin');
  expect([finished.status, finished.stderr]).toEqual([0, expect.not.stringContaining('refuses')]);
  expect(readFileSync(pinFile, 'utf8')).toBe(next);
  await service.daemon.start();
  expect(recorded().times).toBe(times + (when === 'after the token had it' ? 2 : 1));
});
