import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config.ts';
import { TokenConfig } from '../../src/config/token-config.ts';
import { loadProfile } from '../../src/token/host/module-profile.ts';
import { tokenSessionFault } from '../../src/token/host/session-limit.ts';
import { checkStartConditions } from '../../src/token/host/start-conditions.ts';

const config = (threads: number): TokenConfig => TokenConfig.parse({ label: 'hsm', pin: 'credential:pin', threads });
const environment = { YUBIHSM_PKCS11_CONF: '/etc/signetd/yubihsm_pkcs11.conf' };

describe('before the module is loaded, the host refuses', () => {
  const yubihsm = loadProfile('yubihsm2');

  it('more threads than the HSM has sessions for, the one of the login counted', () => {
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

  it('a PIN that cannot be one, without showing it', () => {
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
