import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error.ts';
import { TokenConfig } from '../../src/config/token-config.ts';
import { loadProfile, modulePath } from '../../src/token/host/module-profile.ts';
import { prepare } from '../../src/token/host/prepare.ts';
import {
  tokenSessionFault,
  checkStartConditions,
  environmentFaults,
  pinFaults,
  sessionFaults,
} from '../../src/token/host/start-conditions.ts';
import { profileWith } from './direct-token.ts';

const config = (threads: number): TokenConfig => TokenConfig.parse({ label: 'hsm', pin: 'credential:pin', threads });
const environment = { YUBIHSM_PKCS11_CONF: '/etc/signetd/yubihsm_pkcs11.conf' };

describe('before the module is loaded, the host refuses', () => {
  const yubihsm = loadProfile('yubihsm2');

  it('more threads than the HSM has sessions for, including that of the login', () => {
    expect(() => {
      checkStartConditions(config(15), yubihsm, environment, Buffer.from('0001password'));
    }).not.toThrow();
    expect(() => {
      checkStartConditions(config(16), yubihsm, environment, Buffer.from('0001password'));
    }).toThrow('token.threads: 16 threads need 17 sessions (one more holds the login), and YubiHSM 2 allows 16: at most 15 threads');
  });

  it('a module that would not find its configuration', () => {
    expect(() => {
      checkStartConditions(config(1), yubihsm, {}, Buffer.from('0001password'));
    }).toThrow('YubiHSM 2 finds its configuration by the variable YUBIHSM_PKCS11_CONF, which is not set');
    expect(() => {
      checkStartConditions(config(1), loadProfile('utimaco'), {}, Buffer.from('1234'));
    }).toThrow('there is no /etc/utimaco/cs_pkcs11_R3.cfg either');
  });

  it('a PIN of the wrong form, without showing it', () => {
    const check = (): void => {
      checkStartConditions(config(1), loadProfile('cloudhsm'), {}, Buffer.from('hunter2'));
    };
    expect(check).toThrow(ConfigError);
    expect(check).toThrow('<name of the crypto user>:<password>');
    expect(check).not.toThrow('hunter2');
    expect(() => {
      checkStartConditions(config(1), loadProfile('cloudhsm'), {}, Buffer.from('signer:hunter2'));
    }).not.toThrow();
  });

  it('with every fault in one message', () => {
    expect(() => {
      checkStartConditions(config(40), yubihsm, {}, Buffer.from('x'));
    }).toThrow(/token\.threads: .*\ntoken\.environment: .*\ntoken\.pin: /);
  });
});

describe('the limit that the token tells', () => {
  it.each([
    [2, 3, false],
    [3, 3, true],
    [64, 0, false],
    [64, 1, true],
    [64, 0xffffffff, false],
    [64, -1, false],
  ])('%i threads, %i sessions: refused %s', (threads, sessions, refused) => {
    expect(tokenSessionFault(threads, sessions) !== undefined).toBe(refused);
  });
});

describe('each condition by itself', () => {
  it('is met by a module that has no limit, no variables and no form of PIN', () => {
    expect(sessionFaults(1000, profileWith())).toEqual([]);
    expect(environmentFaults(profileWith(), {})).toEqual([]);
    expect(pinFaults(profileWith(), Buffer.from(''))).toEqual([]);
  });

  it('is one variable each, which is there, or one of its files is', () => {
    const here = import.meta.filename;
    const variable = (defaultPaths: string[]): string[] =>
      environmentFaults(profileWith({ environment: [{ name: 'A_VARIABLE', defaultPaths }, { name: 'ANOTHER' }] }), { ANOTHER: 'set' });
    const notSet = 'token.environment: Test finds its configuration by the variable A_VARIABLE, which is not set';
    expect(variable([])).toEqual([notSet]);
    expect(variable(['/nowhere/1', '/nowhere/2'])).toEqual([`${notSet}, and there is no /nowhere/1 or /nowhere/2 either`]);
    expect(variable(['/nowhere/1', here])).toEqual([]);
    const set = profileWith({ environment: [{ name: 'A_VARIABLE', defaultPaths: ['/nowhere'] }] });
    expect(environmentFaults(set, { A_VARIABLE: '' })).toHaveLength(1);
    expect(environmentFaults(set, { A_VARIABLE: 'set' })).toEqual([]);
  });

  it('is a PIN of the form that the module wants', () => {
    const profile = profileWith({ pin: { pattern: '^[0-9]{4}$', form: 'four digits' } });
    expect(pinFaults(profile, Buffer.from('1234'))).toEqual([]);
    expect(pinFaults(profile, Buffer.from('12345'))).toEqual([
      'token.pin: Test requires four digits; the PIN at the reference has another form and is not tried',
    ]);
  });
});

describe('what a host prepares', () => {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-prepare-'));
  const [module, pin, profile] = ['module.so', 'pin', 'profile.yaml'].map((name) => join(directory, name)) as [string, string, string];
  const settings = (changes: object = {}): TokenConfig =>
    TokenConfig.parse({ label: 'hsm', pin: `file:${pin}`, profile, environment: { OF_THIS_TEST: 'set' }, ...changes });

  beforeEach(() => {
    delete process.env['OF_THIS_TEST'];
    delete process.env['SIGNETD_ISOLATED_MODULE'];
    writeFileSync(pin, '1234\n', { mode: 0o600 });
    const variables = [{ name: 'OF_THIS_TEST' }];
    writeFileSync(
      profile,
      JSON.stringify({ vendor: 'Ours', tried: false, source: ['this test'], modulePaths: ['/nowhere', module], environment: variables }),
    );
    writeFileSync(module, '');
  });
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
    delete process.env['OF_THIS_TEST'];
    delete process.env['SIGNETD_ISOLATED_MODULE'];
  });

  it('is the profile, the PIN, the file of the module, and the variables that the module reads', () => {
    const prepared = prepare(settings());
    expect([prepared.profile.vendor, Buffer.from(prepared.pin).toString(), prepared.modulePath]).toEqual(['Ours', '1234', module]);
    expect(process.env['OF_THIS_TEST']).toBe('set');
    expect(process.env['SIGNETD_ISOLATED_MODULE']).toBeUndefined();
  });

  it('is the shim in place of an isolated module, which it finds by a variable', () => {
    const { modulePath: path } = prepare(settings({ isolateModule: true }));
    expect(path).toMatch(/\/isolate-module\.so$/);
    expect(existsSync(path)).toBe(true);
    expect(process.env['SIGNETD_ISOLATED_MODULE']).toBe(module);
  });

  it('is refused if a condition is not met', () => {
    expect(() => prepare(settings({ environment: {} }))).toThrow('by the variable OF_THIS_TEST, which is not set');
    expect(() => prepare(settings({ profile: 'nowhere' }))).toThrow('there is no profile "nowhere"');
  });

  it('is the configured file, otherwise the first existing one of the profile', () => {
    const known = loadProfile(profile);
    expect(modulePath(settings({ modulePath: pin }), known)).toBe(pin);
    expect(modulePath(settings(), known)).toBe(module);
    expect(() => modulePath(settings({ modulePath: '/nowhere' }), known)).toThrow(
      new ConfigError('token.modulePath: there is no file /nowhere'),
    );
    rmSync(module);
    expect(() => modulePath(settings(), known)).toThrow(
      new ConfigError(`the module of Ours is not installed: none of /nowhere, ${module} exists`),
    );
  });
});
