import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Appliance } from './appliance.ts';

const services = 'signetd-token.service signetd.service';

/** The disk of the audit log is full, for a moment and for three minutes: nothing is signed without a record, and nothing has to be done afterwards. */
export function fullDisk(appliance: Appliance): void {
  const fill = 'dd if=/dev/zero of=/var/log/signetd/filler bs=4096 status=none || true';

  it('has its audit log on a small disk', async () => {
    appliance.shell(`systemctl stop "signetd-*.socket" ${services}; cp -a /var/log/signetd /root/audit-log
      mount -t tmpfs -o size=64M,mode=0750 tmpfs /var/log/signetd; cp -a /root/audit-log/. /var/log/signetd/
      chown signetd:signetd /var/log/signetd; systemctl start ${services} signetd-public.socket`);
    await appliance.untilReady();
  });

  it.each([10, 180])('stays full for %i s', async (seconds) => {
    appliance.shell(fill);
    await appliance.machine.until('it refuses', () => !appliance.sign().includes('"resultMajor":0'));
    appliance.tell('the disk is full');
    const pid = appliance.machine.property('signetd.service', 'MainPID');
    await delay(seconds * 1000);
    expect(appliance.sign()).not.toContain('"resultMajor":0');
    appliance.shell('rm /var/log/signetd/filler');
    await appliance.untilReady();
    await appliance.untilItSigns();
    expect(appliance.machine.property('signetd.service', 'MainPID')).toBe(pid);
    expect(appliance.tell('there is room again')).not.toMatch(/^fault/m);
  });

  it('has its own disk again', async () => {
    appliance.shell(`systemctl stop "signetd-*.socket" ${services}; cp -a /var/log/signetd/. /root/audit-log/; umount /var/log/signetd
      cp -a /root/audit-log/. /var/log/signetd/; systemctl start ${services} signetd-public.socket`);
    await appliance.untilReady();
    expect(appliance.shell('signetctl audit verify')).toContain('the log is intact');
  });
}
