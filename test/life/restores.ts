import { expect, it } from 'vitest';
import type { Appliance } from './appliance.ts';

const services = 'signetd-token.service signetd.service';

/** A backup is put back over a machine that went on, twice: the service is ready again, and says what the backup does not know. */
export function restores(appliance: Appliance): void {
  it('is backed up while it signs', async () => {
    appliance.shell('age-keygen -o backup-key.txt 2>/dev/null; age-keygen -y backup-key.txt >backup-operators.txt');
    const callers = appliance.load();
    await callers.busy();
    appliance.shell('signetctl backup create --recipient backup-operators.txt --output monday.age | tee monday.txt');
    expect((await callers.end()).failures).toEqual([]);
    appliance.shell('sha256sum monday.age | cut -d " " -f 1 >monday.sha256; signetctl backup verify monday.age --identity backup-key.txt');
  });

  it.each(['once', 'twice'])('is restored on the machine, %s', async () => {
    const callers = appliance.load();
    await callers.busy();
    await callers.end();
    const before = appliance.recordCount;
    appliance.shell(`systemctl stop "signetd-*.socket" ${services}
      signetctl backup restore monday.age --identity backup-key.txt --sha256 "$(cat monday.sha256)" --replace
      systemctl start ${services} signetd-public.socket`);
    await appliance.untilReady();
    await appliance.untilItSigns();
    appliance.attempt('signetctl backup compare');
    const told = appliance.tell('restored');
    expect(told).not.toMatch(/^fault/m);
    expect(appliance.recordCount).toBeLessThan(before);
    appliance.shell('find /etc /var -name "*.before-restore-*" -prune -exec rm -r {} +');
  });
}
