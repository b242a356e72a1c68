import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { OperatorGroup, type GroupsOf } from '../../src/console/operator-group.ts';
import { native } from '../../src/service/native.ts';
import { OwnService } from '../support/own-service.ts';
import { recordingLog } from '../support/silent-log.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';
import { rememberSecrets } from '../support/suite-logs.ts';
import { askConsole } from './console-request.ts';

const [user, group] = [64_007, 64_001];
const minuteMs = 60_000;

/** A group of operators of a machine whose accounts can change, and its clock. */
function machine(access: 'group' | 'user' = 'group'): {
  readonly operators: OperatorGroup;
  readonly asked: number[];
  readonly now: { groups: Awaited<ReturnType<GroupsOf>> | Error; ms: number };
} {
  const now: ReturnType<typeof machine>['now'] = { groups: [user, group], ms: 0 };
  const asked: number[] = [];
  const groupsOf: GroupsOf = async (uid) => {
    asked.push(uid);
    return now.groups instanceof Error ? Promise.reject(now.groups) : Promise.resolve(now.groups);
  };
  return { operators: new OperatorGroup(access === 'group' ? group : undefined, recordingLog(), groupsOf, () => now.ms), asked, now };
}

describe('the console', () => {
  it('admits a user until a minute after they have left the group', async () => {
    const { operators, asked, now } = machine();
    expect(await operators.admits(user)).toBe(true);
    now.groups = [user];
    now.ms = minuteMs - 1;
    expect(await operators.admits(user)).toBe(true);
    expect(asked).toEqual([user]);
    now.ms = minuteMs;
    expect(await operators.admits(user)).toBe(false);
    now.groups = [user, group];
    now.ms = 2 * minuteMs;
    expect(await operators.admits(user)).toBe(true);
  });

  it('no longer admits a user whose account was removed, but one who never had one', async () => {
    const { operators, now } = machine();
    expect(await operators.admits(user)).toBe(true);
    [now.groups, now.ms] = [undefined, minuteMs];
    expect([await operators.admits(user), await operators.admits(user + 1)]).toEqual([false, true]);
  });

  it('keeps to the last answer while the groups cannot be found', async () => {
    const { operators, now } = machine();
    for (const groups of [[user, group], [user]]) {
      now.groups = groups;
      now.ms += minuteMs;
      const before = await operators.admits(user);
      now.groups = new Error('no answer');
      now.ms += minuteMs;
      expect(await operators.admits(user)).toBe(before);
    }
  });

  it('asks for no group of root, of its own user, or of anybody while only they may open the socket', async () => {
    const { operators, asked, now } = machine();
    now.groups = [];
    expect([await operators.admits(0), await operators.admits(process.getuid?.() ?? 0)]).toEqual([true, true]);
    expect(await machine('user').operators.admits(user)).toBe(true);
    expect(asked).toEqual([]);
  });

  it('finds the groups of the accounts of this machine', async () => {
    for (const name of ['root', 'daemon', 'nobody']) {
      const [uid, ...groups] = ['-u', '-g', '-G'].flatMap((option) =>
        execFileSync('id', [option, name], { encoding: 'utf8' }).trim().split(' '),
      );
      const found = (await native().groupsOf(Number(uid))) ?? [];
      expect([found[0], new Set(found)]).toEqual([Number(groups[0]), new Set(groups.map(Number))]);
    }
    expect(await native().groupsOf(user)).toBeUndefined();
  });
});

const Audit = z.object({ audit: z.object({ directory: z.string() }) });
const Answered = z.object({ result: z.object({ code: z.string() }) });
const nobody = 65_534;

/** Asks for a link as the user "nobody", in a process with this group. */
function codeFor(socketPath: string, processGroup: number): string {
  const program = `import socket
s = socket.socket(socket.AF_UNIX)
s.connect('${socketPath}')
f = s.makefile('rw')
f.readline()
f.write('{"command":"console"}\\n')
f.flush()
print(f.readline())`;
  const identity = [`--reuid=${nobody}`, `--regid=${processGroup}`, '--clear-groups'];
  const { result } = Answered.parse(
    JSON.parse(execFileSync('setpriv', [...identity, '/usr/bin/python3', '-c', program], { cwd: '/', encoding: 'utf8' })),
  );
  rememberSecrets(JSON.stringify({ token: result.code }));
  return result.code;
}

it.skipIf(notRoot !== undefined).each([
  [nobody, 200, 'has in this group'],
  [group, 401, 'does not have in this group'],
])(
  `a process in group %i signs in with status %i if the machine %s the user it runs as${skipNote(notRoot)}`,
  async (processGroup, status) => {
    const directory = mkdtempSync(join(tmpdir(), 'operators-'));
    chmodSync(directory, 0o755);
    const socketPath = join(directory, 'admin.sock');
    const service = await OwnService.start((environment) => {
      const { configFile } = environment.description();
      const config = z.looseObject({}).parse(parse(readFileSync(configFile, 'utf8')));
      writeFileSync(configFile, stringify({ ...config, admin: { socketPath, access: 'group', group: processGroup } }));
    });
    const headers = { 'X-Console-Code': codeFor(socketPath, processGroup) };
    const answer = await askConsole(service.opsUrl, '/api/sign-in', { method: 'POST', headers });
    expect(answer.status).toBe(status);
    if (status === 401) expect(answer.body).toContain('you are not in the group of operators');
    const command = status === 200 ? 'console sign-in' : 'console end';
    const { directory: audit } = Audit.parse(parse(readFileSync(service.description.configFile, 'utf8'))).audit;
    const records = readdirSync(audit).map((name) => readFileSync(join(audit, name), 'utf8'));
    expect(records.join('').split(`"uid":${nobody},"via":"console"`).slice(1)).toEqual([expect.stringContaining(`"command":"${command}"`)]);
    await service.remove();
    rmSync(directory, { recursive: true });
  },
);
