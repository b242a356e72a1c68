import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Appliance } from './appliance.ts';

const waitMs = 180_000;
const restarts = 4;
const pin = '/etc/credstore.encrypted/signetd.pin';
const calls = '/var/lib/signetd-token/calls';
const refused = '0xa0 CKR_PIN_INCORRECT';
const store = (text: string): string => `printf %s ${text} | systemd-creds encrypt --with-key=host --name=pin - ${pin}`;
const restart = 'systemctl restart signetd-token.service signetd.service || true';

/** A wrong PIN for three minutes with restarts by hand, and a reboot; twice. Calls of the module are counted by pkcs11-spy. */
export function wrongPin(appliance: Appliance): void {
  const { machine } = appliance;
  const logins = (): string[] => {
    const { output } = machine.try('grep', '-aA14', 'C_Login$', calls);
    return output.match(/^Returned: .*$/gm) ?? [];
  };
  const wrongLogins = (): number => logins().filter((line) => line.includes('CKR_PIN_INCORRECT')).length;
  const saysWhy = async (): Promise<void> =>
    machine.until('the daemon says why it is not ready', () => /"token":.*refused|refuses the PIN/.test(appliance.health()));

  it('has its calls of the module counted', async () => {
    appliance.configure('pkcs11-spy before the module', (config) => {
      Object.assign(config['token'] ?? {}, { modulePath: '/usr/lib/x86_64-linux-gnu/pkcs11-spy.so' });
    });
    appliance.shell(`cp ${pin} /root/right-pin
      mkdir -p /etc/systemd/system/signetd-token.service.d
      printf '%s\\n' '[Service]' Environment=PKCS11SPY=/usr/lib/softhsm/libsofthsm2.so Environment=PKCS11SPY_OUTPUT=${calls} \\
        >/etc/systemd/system/signetd-token.service.d/spy.conf
      systemctl daemon-reload; ${restart}`);
    await appliance.untilReady();
    expect(logins().length).toBeGreaterThan(0);
    expect(wrongLogins()).toBe(0);
  });

  it.each(['471100', '471101'])('presents a wrong PIN, %s, once in three minutes, four restarts and a reboot', async (wrong) => {
    machine.run('sh', '-c', `: >${calls}`);
    appliance.shell(`${store(wrong)}; ${restart}`);
    await saysWhy();
    for (let round = 0; round < restarts; round += 1) {
      await delay(waitMs / restarts);
      appliance.attempt(round % 2 === 0 ? restart : 'systemctl start signetd-token.service');
    }
    await saysWhy();
    expect(wrongLogins()).toBe(1);
    const told = appliance.tell(`three minutes with a wrong PIN`);
    expect(told).toMatch(/PIN/);
    expect(machine.property('signetd.service', 'ActiveState')).toBe('active');
    await machine.reboot();
    await saysWhy();
    expect(machine.property('signetd.service', 'StatusText')).toContain('PIN');
    await delay(waitMs / restarts);
    expect(wrongLogins()).toBe(1);
    appliance.note(`# C_Login in all: ${logins().length}; ${refused}: ${wrongLogins()}`);
  });

  it('serves again with the right PIN, without a further command', async () => {
    appliance.shell(`cp /root/right-pin ${pin}; systemctl start signetd-token.service`);
    await appliance.untilReady();
    await appliance.untilItSigns();
    appliance.tell('with the right PIN');
    appliance.configure('the module itself', (config) => {
      Object.assign(config['token'] ?? {}, { modulePath: undefined });
    });
    appliance.shell(`rm /etc/systemd/system/signetd-token.service.d/spy.conf ${calls}; systemctl daemon-reload; ${restart}`);
    await appliance.untilReady();
  });
}
