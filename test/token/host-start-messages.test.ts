import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { faultModule } from '../support/fault-module.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctl } from '../support/signetctl.ts';

const faults = faultModule();
const notLibrary = mkdtempSync(join(tmpdir(), 'signetd-no-module-'));
const textFile = join(notLibrary, 'module.so');
writeFileSync(textFile, 'no library\n');
let token: ScratchToken;

beforeEach(() => {
  token = scratchToken({ profile: 'softhsm2' });
});

afterEach(() => {
  faults.disarm();
  token.remove();
});

afterAll(() => {
  faults.remove();
  rmSync(notLibrary, { recursive: true, force: true });
});

/** What the journal shows of a host that cannot start. */
function said(): { readonly status: number | null; readonly messages: string[] } {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--disable-sigusr1', '--jitless', 'dist/token-host.js', '--config', token.configPath],
    {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], ...token.environment, ...faults.environment },
      timeout: 60_000,
    },
  );
  const messages = stderr.split('\n').flatMap((line) => {
    try {
      return [(JSON.parse(line) as { message: string }).message];
    } catch {
      return [];
    }
  });
  return { status, messages };
}

/** Changes the section of the token. */
function set(members: Record<string, string>): void {
  const config = JSON.parse(readFileSync(token.configPath, 'utf8')) as { token: object };
  writeFileSync(token.configPath, JSON.stringify({ token: { ...config.token, ...members } }));
}

/** What an operator reads who asks for the token. */
async function probed(): Promise<string> {
  return (await signetctl(['--config', token.configPath, 'token', 'probe'], { ...token.environment, ...faults.environment })).stderr;
}

describe.each(['once', 'twice'])('a token host that cannot start, %s', () => {
  it('names call, code and meaning where the directory of a software token is gone, as signetctl does', async () => {
    renameSync(join(token.directory, 'tokens'), join(token.directory, 'elsewhere'));
    const { status, messages } = said();
    expect(status).toBe(70);
    expect(messages).toEqual([
      expect.stringMatching(
        /^the PKCS#11 module \S+ cannot be loaded: C_Initialize: the PKCS#11 module returned CKR_GENERAL_ERROR, 0x5: the module failed and does not say why; often its configuration/,
      ),
    ]);
    expect(await probed()).toContain(messages[0]);
  });

  it('names the label where no token has it, as signetctl does', async () => {
    set({ label: 'elsewhere' });
    expect(said()).toEqual({ status: 70, messages: ['no token with the label "elsewhere" found (token.label)'] });
    expect(await probed()).toContain('no token with the label "elsewhere" found (token.label)');
  });

  it('names the file where the module is no library', () => {
    set({ modulePath: textFile });
    const { status, messages } = said();
    expect([status, ...messages]).toEqual([70, expect.stringMatching(new RegExp(`^the PKCS#11 module ${textFile} cannot be loaded: `))]);
  });

  it.each([
    ['C_OpenSession', '0x30', 'C_OpenSession: the device reports an error (CKR_DEVICE_ERROR)'],
    ['C_OpenSession', '0x31', 'C_OpenSession: the PKCS#11 module returned CKR_DEVICE_MEMORY, 0x31: the device has too little memory'],
  ])('names %s, which fails with %s', (call, code, message) => {
    set({ modulePath: faults.path });
    faults.arm(`always ${call} error ${code}`);
    expect(said()).toEqual({ status: 70, messages: [message] });
  });
});
