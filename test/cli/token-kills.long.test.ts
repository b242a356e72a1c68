import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { TokenConfig } from '../../src/config/token-config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { macKeyId, macKeyIdOf } from '../../src/token/key-id.ts';
import { Created, signing } from '../idempotency/callers.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { repetitions } from '../support/repetitions.ts';
import { scratchToken } from '../support/scratch-token.ts';
import { noSecondToken, secondToken } from '../support/second-token.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { recordingLog } from '../support/silent-log.ts';
import { skipNote } from '../support/skip-note.ts';
import { killedWithin } from './killed-command.ts';

/** Longer than a command takes on a quiet machine. */
const commandMs = 2500;

interface ConfiguredToken {
  readonly directory: string;
  readonly configPath: string;
  readonly config: TokenConfig;
  remove(): void;
}
const makes: { make: string; missing: string | undefined; token: () => ConfiguredToken }[] = [
  { make: 'SoftHSM', missing: undefined, token: scratchToken },
  {
    make: 'Kryoptic',
    missing: noSecondToken,
    token: () => {
      const second = secondToken();
      return {
        directory: second.directory,
        ...second.configure(),
        remove: () => {
          second.remove();
        },
      };
    },
  },
];

describe.each(makes)('token change-pin on $make', ({ missing, token }) => {
  let own: ConfiguredToken;
  const ended: ConfiguredToken[] = [];

  beforeEach(() => {
    if (missing !== undefined) return;
    own = token();
    ended.push(own);
  });
  afterEach(() => {
    for (const one of ended.splice(0)) one.remove();
  });

  /** Whether a token host logs in; a PIN that was refused, or may be, is not presented again. */
  async function starts(): Promise<string> {
    const client = new TokenClient(own.config, own.configPath, recordingLog());
    try {
      await client.start();
      await client.listKeys();
      return 'it started';
    } catch (error) {
      return String(error);
    } finally {
      await client.stop();
    }
  }

  it.skipIf(missing !== undefined)(
    `killed at any moment and given again, ends well, and the token is never locked${skipNote(missing)}`,
    { timeout: 1_200_000 },
    async () => {
      const pinFile = join(own.directory, 'pin');
      const newPin = join(own.directory, 'new-pin');
      const given = ['--config', own.configPath, 'token', 'change-pin', '--new-pin', `file:${newPin}`];
      // More times than a token allows wrong PINs in a row.
      for (let time = 0; time < repetitions(12); time += 1) {
        const pin = String(10_000_000 + time);
        writeFileSync(newPin, pin, { mode: 0o600 });
        for (const kill of [1, 2]) {
          await killedWithin(commandMs, own.directory, ...given);
          const state = await starts();
          if (state !== 'it started') expect(state, `after kill ${kill}`).toContain('PIN');
        }
        const finished = await signetctl(given);
        // It may have ended before it was killed.
        if (finished.status !== 0) expect(finished.stderr).toContain('this is the present PIN');
        expect(readFileSync(pinFile, 'utf8')).toBe(pin);
        expect(await starts()).toBe('it started');
        expect(readdirSync(own.directory).filter((name) => name.startsWith('pin.next'))).toEqual([]);
      }
    },
  );
});

type Section = Record<string, unknown>;
type Config = Section & {
  token: Section;
  tenants: Record<string, Section>;
  certificateAuthorities: Record<string, Section>;
};
const Result = z.looseObject({ result: z.looseObject({ resultMajor: z.number(), resultMinor: z.number() }) });
const Inventory = z.looseObject({ objects: z.array(z.looseObject({ id: z.string(), kind: z.string() })) });
const Slots = z.looseObject({
  slots: z.array(z.looseObject({ token: z.looseObject({ label: z.string(), serial: z.string() }).nullable() })),
});

describe('token accept', () => {
  let service: OwnService;
  let files: string;
  let firstFile: string;
  let formerKey: object;
  const tokens: { remove(): void }[] = [];

  const read = (file: string): Config => parse(readFileSync(file, 'utf8')) as Config;
  const write = (file: string, config: object): void => {
    writeFileSync(file, stringify(config), { mode: 0o600 });
  };
  const ctl = async (...command: string[]): Promise<CommandRun> => signetctl(['--json', ...command]);
  async function done(...command: string[]): Promise<unknown> {
    const run = await ctl(...command);
    expect(run.status, `${command.join(' ')}: ${run.stderr}`).toBe(0);
    return jsonOf(run);
  }
  async function codeOf(keyReference: object): Promise<string> {
    const { resultMajor, resultMinor } = Result.parse(JSON.parse(await service.post('signature/sign', signing(keyReference)))).result;
    return `${resultMajor}/${resultMinor}`;
  }
  const newKey = async (): Promise<object> =>
    Created.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate()))).keyReference;

  beforeAll(async () => {
    service = await OwnService.start((made) => {
      const { configFile } = made.description();
      const { timeStampAuthority: _, ...others } = read(configFile);
      write(configFile, { ...others, keyPool: { keys: 0 } });
    });
    files = mkdtempSync(join(tmpdir(), 'signetd-tokens-'));
    firstFile = join(files, 'first.yaml');
    formerKey = await newKey();
    await service.daemon.stop();
    write(firstFile, read(service.description.configFile));
  }, 300_000);
  afterAll(async () => {
    await service.remove();
    for (const token of tokens) token.remove();
    rmSync(files, { recursive: true, force: true });
  });

  /** Writes a configuration with an empty token, of either make in turn, and an issuing CA on it. Answers its file, and the token's directory. */
  async function movedTo(time: number): Promise<{ readonly moved: string; readonly directory: string }> {
    const next = time % 2 === 1 && noSecondToken === undefined ? secondToken() : scratchToken();
    tokens.push(next);
    const settings =
      'settings' in next ? next.settings : { label: 'test', pin: `file:${next.directory}/pin`, environment: next.environment };
    const moved = join(files, 'moved.yaml');
    const config = read(service.description.configFile);
    const { environment: _environment, pin: _pin, label: _label, modulePath: _modulePath, ...others } = config.token;
    config.token = { ...others, ...settings };
    write(moved, config);
    const name = `issuing-${time + 1}`;
    const names = ['--name', name, '--common-name', name, '--country', 'FR', '--organization', 'Example SA'];
    const place = ['--directory', files, '--public-url', 'http://127.0.0.1:1', '--issuer-token', firstFile];
    const made = (await done('--config', moved, 'ca', 'issue', '--by', 'root', ...names, ...place)) as Config;
    for (const authority of Object.values(config.certificateAuthorities)) authority['retired'] = true;
    Object.assign(config.certificateAuthorities, made.certificateAuthorities);
    for (const tenant of Object.values(config.tenants)) tenant['certificateAuthority'] = name;
    write(moved, config);
    return { moved, directory: next.directory };
  }

  it(
    'killed at any moment and given again, ends well: one MAC key, one record, and the service goes on',
    { timeout: 1_200_000 },
    async () => {
      const { configFile } = service.description;
      for (let time = 1; time <= repetitions(4); time += 1) {
        const { moved, directory: tokenDirectory } = await movedTo(time);
        const found = Slots.parse(await done('--config', moved, 'token', 'slots')).slots.find(({ token }) => token?.label === 'test');
        const accepting = ['--config', moved, 'token', 'accept', '--label', 'test', '--serial', found?.token?.serial ?? ''];
        for (let kill = 0; kill < 3; kill += 1) await killedWithin(commandMs, tokenDirectory, ...accepting);
        const finished = await ctl(...accepting);
        // It may have ended before it was killed.
        if (finished.status !== 0) expect(finished.stderr).toContain('they belong together');
        write(configFile, read(moved));
        await service.daemon.start();
        expect(await codeOf(formerKey)).toBe('2/204');
        formerKey = await newKey();
        expect(await codeOf(formerKey)).toBe('0/0');
        const { objects } = Inventory.parse(await done('--config', configFile, 'token', 'inventory'));
        // The template of the SoftHSM tokens has one of its own, with the number 0.
        const macKeys = objects.map(({ id }) => id).filter((id) => id.startsWith(macKeyId.slice(0, 26)) && id !== macKeyId);
        expect(macKeys).toEqual([macKeyIdOf(time)]);
        for (const command of [
          ['audit', 'verify'],
          ['state', 'compare'],
        ])
          await done('--config', configFile, ...command);
        await service.daemon.stop();
        const { directory } = read(configFile)['audit'] as { directory: string };
        const log = readdirSync(directory).map((file) => readFileSync(join(directory, file), 'utf8'));
        expect(log.join('').match(/"command":"token accept"/g)).toHaveLength(time);
      }
    },
  );
});
