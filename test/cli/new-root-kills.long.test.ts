import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { openssl } from '../support/openssl.ts';
import { repetitions } from '../support/repetitions.ts';
import { scratchToken } from '../support/scratch-token.ts';
import { noSecondToken, secondToken } from '../support/second-token.ts';
import { skipNote } from '../support/skip-note.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { killedWithin } from './killed-command.ts';

const Sections = z.looseObject({ certificateAuthorities: z.record(z.string(), z.record(z.string(), z.unknown())) });
const NewAuthority = z.looseObject({
  certificate: z.string(),
  accepted: z.string(),
  clientAuthority: z.looseObject({ keyId: z.string(), crossCertificates: z.array(z.string()) }),
});
const Inventory = z.looseObject({ objects: z.array(z.looseObject({ id: z.string(), kind: z.string() })) });

const makes = [
  {
    make: 'SoftHSM',
    missing: undefined,
    token: () => {
      const scratch = scratchToken();
      return {
        directory: scratch.directory,
        tokenConfig: scratch.configPath,
        remove: () => {
          scratch.remove();
        },
      };
    },
  },
  {
    make: 'Kryoptic',
    missing: noSecondToken,
    token: () => {
      const second = secondToken();
      return {
        directory: second.directory,
        tokenConfig: second.configure().configPath,
        remove: () => {
          second.remove();
        },
      };
    },
  },
];
const identity = ['--country', 'FR', '--organization', 'Example SA'];
/** Longer than a command takes on a quiet machine. */
const commandMs = 2500;
/** Of either command: its certificate, that by the former CA, and the third. */
const filesMade = 3;

describe.each(makes)('a new root, and a new CA of clients, on $make', ({ missing, token }) => {
  let directory: string;
  let configPath: string;
  let remove = (): void => undefined;
  let authorities: Record<string, Record<string, unknown>> = {};
  let root = 'root';
  let accepted = 'c';
  let clientAuthority: { readonly certificate: string; readonly keyId: string } | undefined;
  /** Killed commands that had made everything, of which nobody read the answer. */
  let unread = 0;

  const ctl = async (...args: readonly string[]): Promise<CommandRun> => signetctl(['--config', configPath, '--json', ...args]);
  async function done(...args: readonly string[]): Promise<unknown> {
    const run = await ctl(...args);
    expect(run.status, run.stderr).toBe(0);
    return jsonOf(run);
  }
  function configure(tokenConfig: string): void {
    const { token: section } = JSON.parse(readFileSync(tokenConfig, 'utf8')) as { token: object };
    const listeners = { api: { certificate: 'a', key: 'b', clientCertificateAuthority: accepted } };
    const config = {
      listeners,
      token: section,
      state: { path: join(directory, 'state.sqlite') },
      certificateAuthorities: authorities,
      tenants: {},
      ...(clientAuthority === undefined ? {} : { clientAuthority }),
    };
    writeFileSync(configPath, stringify({ ...config, audit: { directory: join(directory, 'audit') } }));
  }
  let reconfigure = (): void => undefined;

  beforeAll(async () => {
    if (missing !== undefined) return;
    const made = token();
    ({ directory, remove } = made);
    configPath = join(directory, 'signetd.yaml');
    reconfigure = () => {
      configure(made.tokenConfig);
    };
    reconfigure();
    authorities = Sections.parse(await done('ca', 'init', '--directory', directory, ...identity)).certificateAuthorities;
    reconfigure();
  }, 120_000);
  afterAll(() => {
    remove();
  });

  /**
   * Checks that the token has the keys that something names, and those that the journal has for the
   * next start of signetd to destroy.
   */
  async function checkKeys(known: readonly unknown[]): Promise<void> {
    const onToken = Inventory.parse(await done('token', 'inventory'))
      .objects.filter(({ id, kind }) => id.startsWith('52') && kind.includes('rivate'))
      .map(({ id }) => id);
    const store = new DatabaseSync(join(directory, 'state.sqlite'), { readOnly: true });
    const announced = store
      .prepare('select key_id from key_journal')
      .all()
      .map((row) => String(row['key_id']));
    store.close();
    const roots = known.map(String).filter((id) => id.startsWith('52'));
    expect(onToken).toEqual(expect.arrayContaining(roots));
    const ofNobody = onToken.filter((id) => !roots.includes(id) && !announced.includes(id));
    expect(ofNobody.length, 'keys that no journal and no certificate has').toBeLessThanOrEqual(unread);
  }

  /** Has a command killed again and again, and then lets it end. Answers what it printed, and the directory of its files. */
  async function madeAfterKills(...given: readonly string[]): Promise<{ readonly printed: unknown; readonly files: string }> {
    for (let round = 0; round < repetitions(10); round += 1) {
      const files = mkdtempSync(join(directory, 'killed-'));
      await killedWithin(commandMs, directory, '--config', configPath, ...given, '--directory', files);
      if (readdirSync(files).length === filesMade) unread += 1;
      rmSync(files, { recursive: true });
    }
    const files = mkdtempSync(join(directory, 'made-'));
    return { printed: await done(...given, '--directory', files), files };
  }
  const strict = ['verify', '-x509_strict', '-check_ss_sig'];

  it.skipIf(missing !== undefined)(
    `ca new-root, killed at any moment and given again, ends well, twice in a row${skipNote(missing)}`,
    { timeout: 600_000 },
    async () => {
      for (const time of [1, 2]) {
        const next = `root-${time + 1}`;
        const given = ['ca', 'new-root', '--replaces', root, '--name', next, ...identity, '--common-name', `Root ${next}`];
        const { printed, files } = await madeAfterKills(...given);
        const { certificateAuthorities } = Sections.parse(printed);
        const old = String(authorities[root]?.['certificate']);
        for (const [name, section] of Object.entries(certificateAuthorities)) authorities[name] = { ...authorities[name], ...section };
        reconfigure();
        const own = join(files, `${next}.pem`);
        expect(openssl([...strict, '-CAfile', own, own])).toContain('OK');
        expect(openssl([...strict, '-CAfile', old, join(files, `${next}-by-${root}.pem`)])).toContain('OK');
        expect(openssl([...strict, '-CAfile', own, join(files, `${root}-by-${next}.pem`)])).toContain('OK');
        root = next;
      }
      await checkKeys(Object.values(authorities).map(({ keyId }) => keyId));
    },
  );

  it.skipIf(missing !== undefined)(
    `client new-authority, killed at any moment and given again, ends well, twice in a row${skipNote(missing)}`,
    { timeout: 600_000 },
    async () => {
      accepted = String(authorities['root']?.['certificate']);
      clientAuthority = { certificate: accepted, keyId: String(authorities['root']?.['keyId']) };
      reconfigure();
      const known = Object.values(authorities).map(({ keyId }) => keyId);
      for (const name of ['clients-2', 'clients-3']) {
        const given = ['client', 'new-authority', '--name', name, ...identity, '--common-name', `CA ${name}`];
        const { printed } = await madeAfterKills(...given);
        const made = NewAuthority.parse(printed);
        const [cross = ''] = made.clientAuthority.crossCertificates;
        expect(openssl([...strict, '-CAfile', made.certificate, made.certificate])).toContain('OK');
        expect(openssl([...strict, '-CAfile', clientAuthority.certificate, cross])).toContain('OK');
        accepted = made.accepted;
        clientAuthority = { certificate: made.certificate, keyId: made.clientAuthority.keyId };
        reconfigure();
        known.push(made.clientAuthority.keyId);
      }
      await checkKeys(known);
    },
  );
});
