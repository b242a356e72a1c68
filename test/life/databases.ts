import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { firstBlock, shellBlocks } from '../docs/shell-blocks.ts';
import type { Appliance } from './appliance.ts';

const page = readFileSync('docs/moving.md', 'utf8');
const startPublic = 'systemctl start signetd-public.socket';
const toPostgresql = (parse(firstBlock(page, 'yaml', 'To PostgreSQL')) as Record<string, unknown>)['state'];
const back = { kind: 'sqlite', path: '/var/lib/signetd/again.sqlite' };

/** The state moves to a PostgreSQL of the same machine and back, by the commands of docs/moving.md. */
export function databases(appliance: Appliance): void {
  const [make = '', copy = '', check = '', stop = '', start = ''] = shellBlocks(page, 'To PostgreSQL').map(({ commands }) => commands);

  it('has a PostgreSQL beside it', () => {
    appliance.shell(`bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
      install -d -o postgres -g postgres /var/lib/postgresql /run/postgresql
      cd /var/lib/postgresql; rm -rf life
      runuser -u postgres -- $bin/initdb -D life --auth-local=peer --auth-host=reject --no-sync >/dev/null
      systemd-run --quiet --unit=database --uid=postgres $bin/postgres -D /var/lib/postgresql/life -k /run/postgresql -c listen_addresses=
      until [ -S /run/postgresql/.s.PGSQL.5432 ]; do sleep 0.1; done
      ${make}`);
  });

  it.each([
    ['PostgreSQL', toPostgresql],
    ['SQLite', back],
  ])('moves to %s with all that it knows', async (_name, state) => {
    const clients = appliance.shell('signetctl client list');
    appliance.shell(copy);
    const moved = parse(appliance.machine.run('cat', '/etc/signetd/moved.yaml')) as object;
    writeFileSync(join(appliance.material, 'moved.yaml'), stringify({ ...moved, state }));
    appliance.shell(`cp /srv/moved.yaml /etc/signetd/moved.yaml\n${check}`);
    expect(appliance.shell(stop)).toContain('State store copied');
    expect(appliance.shell(`${start}\n${startPublic}`)).toMatch(/missing: +0 changes/);
    await appliance.untilReady();
    await appliance.untilItSigns();
    expect(appliance.shell('signetctl client list')).toBe(clients);
    expect(appliance.tell('moved')).not.toMatch(/^fault/m);
    expect(appliance.shell('signetctl audit verify')).toContain('the log is intact');
    for (const round of [1, 2]) {
      appliance.shell('systemctl restart signetd.service');
      await appliance.untilReady();
      appliance.note(`# restarted ${round} times`);
    }
  });
}
