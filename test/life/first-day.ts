import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shellBlocks } from '../docs/shell-blocks.ts';
import type { Appliance } from './appliance.ts';

/** From a package to a first signature, by the commands of the pages. */
export function firstDay(appliance: Appliance, version: string): void {
  it('is installed, and waits for its set-up', () => {
    const [install] = shellBlocks(readFileSync('docs/installation.md', 'utf8'));
    const command = install?.commands.replace(/\S+\.deb/, `/srv/${version}.deb`) ?? '';
    expect(appliance.shell(`export DEBIAN_FRONTEND=noninteractive\n${command.trim()} --yes --quiet -o Dpkg::Use-Pty=0`)).toContain(
      'Next: signetctl setup',
    );
    expect(appliance.machine.property('signetd.service', 'ActiveState')).toBe('inactive');
  });

  it('is set up, and signs', async () => {
    const begun = performance.now();
    const unattended = "signetctl setup --unattended --token softhsm --organization 'Example SA' --country FR";
    expect(readFileSync('docs/setup.md', 'utf8')).toContain(unattended);
    const output = appliance.shell(`${unattended} --public-url http://127.0.0.1:8080 --credential-key host`);
    appliance.note(`# set up in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    expect(output).toContain('OpenSSL has verified it');
    writeFileSync(join(appliance.material, 'first-curl'), /^curl .*$/m.exec(output)?.[0].trim() ?? '');
    await appliance.untilItSigns();
    expect(appliance.tell('set up')).not.toMatch(/^FAULT/m);
  });

  it('starts again with the machine, and does not wait for a network that it does not use', async () => {
    await appliance.machine.reboot();
    await appliance.untilReady();
    await appliance.untilItSigns();
    expect(appliance.machine.property('network-online.target', 'WantedBy')).not.toContain('signetd');
    appliance.tell('after a reboot');
  });
}
