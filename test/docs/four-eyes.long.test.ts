import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { BootedSystemd, whyNotBootable } from '../support/booted-systemd.ts';
import { openssl } from '../support/openssl.ts';
import { skipNote } from '../support/skip-note.ts';
import { firstBlock, shellBlocks } from './shell-blocks.ts';

/** docs/four-eyes.md, followed on a machine with systemd, with two users who are not root. */
const reason = whyNotBootable();
const material = mkdtempSync(join(tmpdir(), 'signetd-four-eyes-'));
const machine = new BootedSystemd();
const page = readFileSync('docs/four-eyes.md', 'utf8');

/** Runs commands as a user. Answers what they print, standard error last. */
function shell(commands: string, user = 'root'): string {
  const signetctl = 'signetctl() { /usr/lib/signetd/runtime/node --disable-sigusr1 /usr/lib/signetd/dist/cli.js "$@"; }';
  // Without PAM, whose rules the empty /etc lacks.
  const become = user === 'root' ? [] : ['setpriv', '--reuid', user, '--regid', user, '--init-groups'];
  return machine.run(...become, 'env', `HOME=/tmp`, 'bash', '-euo', 'pipefail', '-c', `cd /tmp\n${signetctl}\n${commands}`);
}

const Waiting = z.array(z.looseObject({ id: z.string(), digest: z.string(), details: z.array(z.tuple([z.string(), z.string()])) }));

const ready = async (): Promise<void> =>
  machine.until('it serves', () => machine.try('curl', '--silent', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"'));

describe.skipIf(reason !== undefined)(`docs/four-eyes.md${skipNote(reason)}`, { timeout: 400_000 }, () => {
  beforeAll(async () => {
    for (const name of ['invoices', 'orders']) {
      const request = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-keyout', join(material, `${name}.key`)];
      openssl(['req', '-x509', ...request, '-subj', `/CN=${name}`, '-days', '30', '-out', join(material, `${name}.pem`)]);
    }
    chmodSync(material, 0o755);
    await machine.boot(material);
    // The first boot with an empty /etc enables every unit, which the installation of the package does not.
    machine.run('systemctl', 'disable', '--now', 'signetd-public.socket');
    shell(shellBlocks(readFileSync('docs/setup.md', 'utf8'), 'Unattended')[0]?.commands ?? '');
    shell('useradd --user-group --create-home alice; useradd --user-group --create-home bob');
  });

  afterAll(async () => {
    await machine.remove();
    rmSync(material, { recursive: true, force: true });
  });

  it('Turn it on', async () => {
    for (const { commands } of shellBlocks(page, 'Turn it on')) shell(commands);
    const config = parse(machine.run('cat', '/etc/signetd/signetd.yaml')) as Record<string, object>;
    const { admin } = parse(firstBlock(page, 'yaml', 'Turn it on')) as { admin: object };
    writeFileSync(join(material, 'signetd.yaml'), stringify({ ...config, admin: { ...config['admin'], ...admin } }));
    machine.run('install', '-m', '0640', '-g', 'signetd', '/srv/signetd.yaml', '/etc/signetd/');
    machine.run('systemctl', 'restart', 'signetd.service');
    await ready();
  });

  it('Give a command, and approve it, twice in a row', async () => {
    for (const name of ['invoices', 'orders']) {
      shell(`cp /srv/${name}.pem .`, 'alice');
      const add = `signetctl client add --certificate ${name}.pem --name ${name} --tenant main --roles signature`;
      shell(`(${add}; echo "ended with $?") >/tmp/${name}.out 2>&1 & disown`, 'alice');
      let waiting: z.output<typeof Waiting> = [];
      await machine.until('it waits', () => {
        waiting = Waiting.parse(JSON.parse(shell('signetctl --json approvals', 'bob')));
        return waiting.length === 1;
      });
      const [{ id, digest, details } = { id: '', digest: '', details: [] }] = waiting;
      expect(details[0]).toEqual(['registers', `the client "${name}"`]);
      expect(() => shell(`signetctl approve ${id} --digest ${digest}`, 'alice')).toThrow(
        "permission denied; run this as root, as the user of signetd, or as a member of the socket's group",
      );
      expect(shell(`signetctl approve ${id} --digest ${digest}`, 'bob')).toContain(`Request ${id} is approved.`);
      await machine.until('it is done', () => machine.run('cat', `/tmp/${name}.out`).includes('ended with 0'));
      expect(machine.run('cat', `/tmp/${name}.out`)).toContain(`signetctl approve ${id}`);
    }
  });
});
