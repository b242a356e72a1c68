import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Appliance } from './appliance.ts';

const pauseMaxMs = 5000;
/** A loaded machine is slower than an appliance. */
const margin = 2;

/** Upgrades in a row while callers sign: each is in force, no request is lost, and nobody waits longer than a restart. */
export function upgrades(appliance: Appliance, versions: readonly string[]): void {
  it.each([...versions])('is upgraded to %s under load', async (version) => {
    const before = appliance.pids();
    const callers = appliance.load();
    await callers.busy();
    const output = appliance.shell(`DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes -o Dpkg::Use-Pty=0 /srv/${version}.deb`);
    const plain = version.replace(/-\d+$/, '');
    await appliance.machine.until('the new version serves', () => appliance.runningVersion === plain && appliance.ready);
    await delay(2000);
    const { requests, failures, longestMs } = await callers.end();
    appliance.note(`# ${requests} requests during the upgrade, ${failures.length} failed; the longest answer took ${longestMs} ms`);
    expect(failures).toEqual([]);
    expect(output).not.toMatch(/warning|error|fail/i);
    expect(longestMs).toBeLessThan(pauseMaxMs * margin);
    for (const pid of appliance.pids()) expect(before).not.toContain(pid);
    expect(appliance.tell(`upgraded to ${version}`)).not.toMatch(/restart signetd-token and signetd/);
  });
}
