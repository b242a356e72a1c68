import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { codeBlocks } from '../docs/shell-blocks.ts';
import type { Appliance } from './appliance.ts';

const data = ['/var/lib/signetd/state.sqlite', '/var/log/signetd/audit', '/var/lib/signetd-token/tokens', '/var/lib/signetd-token/account'];
const kept = '/var/backups/signetd-configuration';

const blocksOf = (heading: string): ReturnType<typeof codeBlocks> => codeBlocks(readFileSync('docs/installation.md', 'utf8'), heading);

/** Purges: with the answer that keeps the data, after which an installation goes on with them, twice; then with the other one. */
export function purges(appliance: Appliance, version: string): void {
  const { machine } = appliance;
  const apt = (...options: readonly string[]): string =>
    appliance.shell(`DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes -o Dpkg::Use-Pty=0 ${options.join(' ')}`);
  const exists = (path: string): boolean => machine.try('test', '-e', path).status === 0;

  it.each(['once', 'twice'])('is purged and keeps its data, which the next installation uses, %s', async () => {
    const records = appliance.recordCount;
    expect(apt('purge', 'signetd')).not.toMatch(/\b(?:warning|error|cannot|fail)/i);
    for (const path of data) expect(exists(path), path).toBe(true);
    for (const path of ['/etc/signetd', '/etc/credstore.encrypted/signetd.pin']) expect(exists(path), path).toBe(false);
    expect(machine.run('stat', '--format=%U', ...data.slice(0, 2))).toBe('signetd\nsignetd\n');
    expect(machine.run('stat', '--format=%U %a', kept)).toBe('root 700\n');
    expect(apt('install', `/srv/${version}.deb`)).toContain('Next: signetctl setup');
    // The copy is put back, then the public listener's socket and the services start, in the order of the page.
    const back = blocksOf('Using kept data again');
    expect(back.map(({ text }) => /systemctl enable --now (\S+)/.exec(text)?.[1])).toEqual([
      undefined,
      'signetd-public.socket',
      'signetd-token.service',
    ]);
    appliance.shell(back.map(({ text }) => text).join(''));
    expect(machine.run('stat', '--format=%U %a', '/etc/credstore.encrypted')).toBe('root 700\n');
    await appliance.untilReady();
    await appliance.untilItSigns();
    expect(appliance.recordCount).toBeGreaterThan(records);
    expect(appliance.tell('purged, and installed again with its data')).not.toMatch(/^fault/m);
    expect(appliance.shell('signetctl audit verify')).toContain('the log is intact');
  });

  it('is purged with its data where the operator says so', () => {
    appliance.shell(blocksOf('Removal').find(({ text }) => text.includes('debconf'))?.text ?? 'false');
    const printed = apt('purge', 'signetd');
    for (const path of ['/var/lib/signetd', '/var/log/signetd', kept])
      expect(printed).toMatch(new RegExp(`^signetd: deleted.* ${path}( |$)`, 'm'));
    for (const path of [...data, kept, '/etc/signetd', '/var/lib/signetd', '/var/log/signetd']) expect(exists(path), path).toBe(false);
    expect(machine.run('sh', '-c', 'getent passwd; getent group')).not.toContain('signetd');
    // The next question is a new one.
    expect(machine.run('sh', '-c', 'debconf-show signetd')).toBe('');
  });

  it('is purged, and its data are deleted later', () => {
    apt('install', `/srv/${version}.deb`);
    appliance.shell(
      'install -d -o signetd -g signetd /var/lib/signetd /var/log/signetd; touch /var/lib/signetd/data /var/log/signetd/data',
    );
    expect(apt('purge', 'signetd')).toContain('signetd: kept');
    for (const path of ['/var/lib/signetd/data', kept]) expect(exists(path), path).toBe(true);
    appliance.shell(
      blocksOf('Deleting kept data later')
        .map(({ text }) => text)
        .join(''),
    );
    for (const path of [kept, '/var/lib/signetd', '/var/lib/signetd-token', '/var/log/signetd']) expect(exists(path), path).toBe(false);
    expect(machine.run('sh', '-c', 'getent passwd; getent group')).not.toContain('signetd');
  });
}
