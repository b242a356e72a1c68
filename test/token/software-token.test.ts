import { execFile } from 'node:child_process';
import { chmodSync, chownSync, existsSync, lchownSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withOperatorToken } from '../../src/cli/ca/token-work.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

/** The user "nobody", as the user of a token host. */
const [uid, gid] = [65_534, 65_534];
let scratch: ScratchToken;
/** With the settings, which are root's; everybody may read them, but not the PIN beside them. */
let settings: string;
let tokens: string;

beforeEach(() => {
  scratch = scratchToken();
  settings = scratch.environment.SOFTHSM2_CONF;
  tokens = join(scratch.directory, 'tokens');
  if (notRoot !== undefined) return;
  chmodSync(scratch.directory, 0o755);
  chmodSync(settings, 0o644);
  for (const path of everything()) chownSync(path, uid, gid);
});

afterEach(() => {
  scratch.remove();
});

function everything(): string[] {
  return [tokens, ...readdirSync(tokens, { recursive: true, encoding: 'utf8' }).map((name) => join(tokens, name))];
}

function ownersOf(paths: readonly string[]): number[] {
  return [...new Set(paths.map((path) => statSync(path).uid))];
}

const inventory = async (): ReturnType<typeof signetctlHere> => signetctlHere(['--config', scratch.configPath, 'token', 'inventory']);

describe.skipIf(notRoot !== undefined)(`a software token of another user${skipNote(notRoot)}`, () => {
  it('is used by root as that user, with the PIN that root alone can read', async () => {
    const before = everything().length;
    const owners = await withOperatorToken(scratch.configPath, 'ca certify', async (token) => {
      await token.createKey(newKeyId('authority'), 'P-256');
      return ownersOf(everything());
    });
    expect(owners).toEqual([uid]);
    expect(everything().length).toBeGreaterThan(before);
    expect(statSync(join(scratch.directory, 'pin')).uid).toBe(0);
    expect(await inventory()).toMatchObject({ status: 0 });
  });

  it('makes root write nothing where a symbolic link in it leads', async () => {
    const target = join(scratch.directory, 'target');
    const [name = ''] = readdirSync(tokens);
    const lock = join(tokens, name, 'token.lock');
    rmSync(lock);
    symlinkSync(target, lock);
    lchownSync(lock, uid, gid);
    await inventory();
    expect(existsSync(target)).toBe(false);
  });

  it('is readable with the group of its settings', async () => {
    chmodSync(settings, 0o640);
    chownSync(settings, 0, 64_123);
    expect(await inventory()).toMatchObject({ status: 0 });
  });

  it('is not used if that user cannot read its settings', async () => {
    chmodSync(settings, 0o600);
    const fault = `root uses the software token as its owner, user ${uid}, who cannot use ${settings}: EACCES`;
    expect((await inventory()).stderr).toContain(fault);
    const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    await expect(withOperatorToken(scratch.configPath, 'ca certify', async () => Promise.resolve())).rejects.toThrow(fault);
    printed.mockRestore();
  });

  it('is never used as root, however often it is asked, if root cannot become that user', async () => {
    const program = `
      import { loadTokenConfig } from './src/config/config.ts';
      import { openModule } from './src/token/operator/module-questions.ts';
      const module = await openModule(loadTokenConfig(process.argv[1]), process.argv[1], 60_000);
      for (let count = 0; count < 2; count += 1) console.log(await module.ask('reportSlots', {}).then(() => 'used', (error) => error.message));
      module.close();`;
    const node = [process.execPath, '--disable-sigusr1', '--no-warnings', '--input-type=module', '--eval', program, scratch.configPath];
    const { stdout } = await promisify(execFile)('setpriv', ['--bounding-set=-setuid', ...node]);
    expect(stdout).toBe('EPERM, Operation not permitted\n'.repeat(2));
  });

  it('is used as the owner of its settings, who can name any directory in them', async () => {
    for (const path of everything()) chownSync(path, 0, 0);
    chownSync(settings, uid, gid);
    expect((await inventory()).status).not.toBe(0);
    for (const path of everything()) chownSync(path, uid, gid);
    expect(await inventory()).toMatchObject({ status: 0 });
  });
});
