import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, linkSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PinRefusedBefore, RefusedPin } from '../../src/token/host/refused-pin.ts';
import { readStartFailure } from '../../src/token/start-failure.ts';
import { noSmallDisk, SmallDisk } from '../audit/small-disk.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { skipNote } from '../support/skip-note.ts';

const incorrect = 0xa0;
const pinOf = (text: string): Buffer => Buffer.from(text);

describe('what is kept of a refused PIN', () => {
  let directory: string;
  let refused: RefusedPin;
  const file = (): string => join(directory, 'refused-pin');

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'signetd-refused-'));
    refused = new RefusedPin(directory, 'own');
    refused.reserve();
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('is about this PIN of this token, whoever asks, until another is refused', () => {
    refused.check('0001', pinOf('471100'));
    refused.keep('0001', pinOf('471100'), incorrect);
    const next = new RefusedPin(directory, 'own');
    next.reserve();
    expect(() => {
      next.check('0001', pinOf('471100'));
    }).toThrow(PinRefusedBefore);
    // Tokens fill their serial numbers with spaces.
    expect(() => {
      next.check('0001   ', pinOf('471100'));
    }).toThrow(/at \d{4}-.+Z \(0xa0\)/);
    next.check('0001', pinOf('471101'));
    next.check('0002', pinOf('471100'));
    next.keep('0001', pinOf('471101'), incorrect);
    next.check('0001', pinOf('471100'));
  });

  it('is about tokens whose serial number is not ASCII, or not even text, too', () => {
    // The second is what 16 octets become that are no UTF-8.
    for (const serial of ['Schlüssel-\u{1f511}', '\ufffd'.repeat(16), '\0'.repeat(16)]) {
      refused.keep(serial, pinOf('471100'), incorrect);
      expect(() => {
        refused.check(serial, pinOf('471100'));
      }).toThrow(PinRefusedBefore);
      expect(statSync(file()).size).toBe(512);
    }
  });

  it('has neither the PIN nor its hash without salt, and is for the host alone', () => {
    refused.keep('0001', pinOf('471100'), incorrect);
    const first = readFileSync(file(), 'latin1');
    expect(first).not.toContain('471100');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    refused.keep('0001', pinOf('471100'), incorrect);
    const hashes = [first, readFileSync(file(), 'latin1')].map((text) => (JSON.parse(text) as { hash: string }).hash);
    expect(hashes[0]).not.toBe(hashes[1]);
  });

  it('is forgotten at a command, once', () => {
    expect(refused.forget()).toBe(false);
    refused.keep('0001', pinOf('471100'), incorrect);
    expect([refused.forget(), refused.forget()]).toEqual([true, false]);
    refused.check('0001', pinOf('471100'));
  });

  it('is nothing where the file is empty, cut off or of another kind, and the next refusal is kept all the same', () => {
    refused.keep('0001', pinOf('471100'), incorrect);
    const noHash = readFileSync(file(), 'latin1').replace(/"hash":"[^"]+"/, `"hash":"${'x'.repeat(64)}"`);
    for (const content of ['', '{"serial":"0001"', '{"serial":"0001"}', 'null', noHash, 'x'.repeat(4096)]) {
      writeFileSync(file(), content);
      refused.check('0001', pinOf('471100'));
      refused.reserve();
      refused.check('0001', pinOf('471100'));
    }
    refused.keep('0001', pinOf('471100'), incorrect);
    expect(() => {
      refused.check('0001', pinOf('471100'));
    }).toThrow(PinRefusedBefore);
    truncateSync(file(), 100);
    refused.reserve();
    expect(statSync(file()).size).toBe(512);
  });

  it('is written to no other file that somebody has put in its place', () => {
    const other = join(directory, 'other');
    for (const put of [symlinkSync, linkSync]) {
      rmSync(file(), { force: true });
      writeFileSync(other, 'content');
      put(other, file());
      expect(() => {
        refused.keep('0001', pinOf('471100'), incorrect);
      }).toThrow(/ELOOP|has another name/);
      expect(() => {
        refused.check('0001', pinOf('471100'));
      }).toThrow(/ELOOP|has another name/);
      expect(() => {
        refused.reserve();
      }).toThrow(/ELOOP|has another name/);
      expect(readFileSync(other, 'utf8')).toBe('content');
    }
  });

  it('is read from no pipe, which would have everybody wait', () => {
    rmSync(file());
    execFileSync('mkfifo', [file()]);
    const looks = [refused, new RefusedPin(directory, 'service')].flatMap((one) => [
      () => {
        one.check('0001', pinOf('471100'));
      },
      () => {
        one.keep('0001', pinOf('471100'), incorrect);
      },
      () => one.forget(),
    ]);
    for (const look of [
      ...looks,
      () => {
        refused.reserve();
      },
    ])
      expect(look).toThrow('is not a regular file');
  });

  it("is the service's also for a command of an operator, who makes no file of their own", () => {
    const operators = new RefusedPin(directory, 'service');
    operators.keep('0001', pinOf('471100'), incorrect);
    expect(() => {
      refused.check('0001', pinOf('471100'));
    }).toThrow(PinRefusedBefore);
    rmSync(file());
    operators.keep('0001', pinOf('471100'), incorrect);
    operators.check('0001', pinOf('471100'));
    expect(existsSync(file())).toBe(false);
    // The service's host does not start without.
    expect(() => {
      refused.keep('0001', pinOf('471100'), incorrect);
    }).toThrow('ENOENT');
  });
});

describe.skipIf(noSmallDisk !== undefined)(`on a full disk${skipNote(noSmallDisk)}`, () => {
  it('a refusal is kept where there is a file, and without one no PIN may be presented', () => {
    const disk = new SmallDisk(256 * 1024);
    try {
      const refused = new RefusedPin(disk.directory, 'own');
      disk.fill();
      expect(() => {
        refused.reserve();
      }).toThrow('ENOSPC');
      disk.empty();
      rmSync(join(disk.directory, 'refused-pin'), { force: true });
      refused.reserve();
      disk.fill();
      refused.reserve();
      refused.keep('0001', pinOf('471100'), incorrect);
      expect(() => {
        refused.check('0001', pinOf('471100'));
      }).toThrow(PinRefusedBefore);
    } finally {
      disk.remove();
    }
  });
});

describe('a token host that a service manager starts again and again', () => {
  const spy = '/usr/lib/x86_64-linux-gnu/pkcs11-spy.so';
  const softhsm = '/usr/lib/softhsm/libsofthsm2.so';
  const noSpy = existsSync(spy) ? undefined : 'pkcs11-spy (Debian: opensc) is not installed';
  let scratch: ScratchToken;

  const calls = (): string => join(scratch.directory, 'calls');
  const spying = (): object => ({ PKCS11SPY: softhsm, PKCS11SPY_OUTPUT: calls() });
  /** How often the module was given a PIN. */
  const logins = (): number => (existsSync(calls()) ? readFileSync(calls(), 'utf8').split('C_Login\n').length - 1 : 0);
  const storePin = (pin: string): void => {
    writeFileSync(join(scratch.directory, 'pin'), `${pin}\n`, { mode: 0o600 });
  };

  beforeEach(() => {
    scratch = scratchToken({ host: 'external', modulePath: spy, accountDirectory: 'account' });
    const config = JSON.parse(readFileSync(scratch.configPath, 'utf8')) as { token: { environment: object } };
    Object.assign(config.token.environment, spying());
    writeFileSync(scratch.configPath, JSON.stringify(config));
  });
  afterEach(() => {
    scratch.remove();
  });

  /** Starts one as the unit does, and answers its exit code; 0 if it serves, which it then no longer does. */
  async function started(): Promise<number | null> {
    const host = spawn(process.execPath, ['--disable-sigusr1', '--no-warnings', 'dist/token-host.js', '--config', scratch.configPath], {
      stdio: ['ignore', 'ignore', 'ignore'],
      env: { PATH: process.env['PATH'], ...scratch.environment, ...spying() },
    });
    const ended = once(host, 'exit') as Promise<[number | null]>;
    while (host.exitCode === null && !existsSync(scratch.config.socketPath)) await new Promise((resolve) => setTimeout(resolve, 20));
    if (host.exitCode === null) host.kill('SIGTERM');
    const [code] = await ended;
    rmSync(scratch.config.socketPath, { force: true });
    return code;
  }

  it.skipIf(noSpy !== undefined)(`presents a wrong PIN once, and tells the daemon why it ended${skipNote(noSpy)}`, async () => {
    storePin('471100');
    for (let start = 0; start < 4; start += 1) expect(await started()).toBe(77);
    expect(logins()).toBe(1);
    const failure = readStartFailure(scratch.config.socketPath);
    expect(failure).toMatchObject({ exitCode: 77, message: expect.stringContaining('the token refused this PIN at') as unknown });
    // An operator's look at the token is an attempt, too.
    const looked = await signetctlHere(['--config', scratch.configPath, 'token', 'probe']);
    expect([looked.status, looked.stderr]).toEqual([4, expect.stringContaining('it is not tried again')]);
    expect(logins()).toBe(1);

    storePin(scratch.pin);
    expect(await started()).toBe(0);
    expect(logins()).toBe(2);
    expect(readStartFailure(scratch.config.socketPath)).toBeUndefined();
    // The refused one is remembered beyond that.
    storePin('471100');
    expect(await started()).toBe(77);
    expect(logins()).toBe(2);
  });

  it.skipIf(noSpy !== undefined)(`presents it once more after a command${skipNote(noSpy)}`, async () => {
    storePin('471100');
    expect(await started()).toBe(77);
    const args = ['--config', scratch.configPath, '--json', 'token', 'retry-pin'];
    expect([await signetctlHere(args), await signetctlHere(args)].map(({ stdout }) => JSON.parse(stdout) as unknown)).toEqual([
      { wasKept: true },
      { wasKept: false },
    ]);
    for (let start = 0; start < 2; start += 1) expect(await started()).toBe(77);
    expect(logins()).toBe(2);
  });

  it.skipIf(noSpy !== undefined)(`presents none where no refusal could be kept${skipNote(noSpy)}`, async () => {
    storePin('471100');
    expect(await started()).toBe(77);
    const kept = join(scratch.directory, 'account', 'refused-pin');
    rmSync(kept);
    symlinkSync('/dev/null', kept);
    for (let start = 0; start < 2; start += 1) expect(await started()).toBe(70);
    expect(logins()).toBe(1);
  });
});
