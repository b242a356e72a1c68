import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { moveToPostgresql } from '../support/quickstart-postgresql.ts';
import { signetctl, type CommandRun } from '../support/signetctl.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

/** A public key of age. */
const recipient = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';

describe.skipIf(notRoot !== undefined)(`signetctl with PostgreSQL and peer authentication${skipNote(notRoot)}`, () => {
  let postgresql: ScratchPostgresql;
  let service: OwnService;
  const ctl = async (...command: string[]): Promise<CommandRun> => signetctl(['--config', service.description.configFile, ...command]);
  const setUser = (clientUser: string | undefined): void => {
    const { configFile } = service.description;
    const config = parse(readFileSync(configFile, 'utf8')) as { token: object };
    writeFileSync(configFile, stringify({ ...config, token: { ...config.token, clientUser } }), { mode: 0o600 });
  };

  beforeAll(async () => {
    postgresql = await ScratchPostgresql.start();
    service = await OwnService.start(async (environment) => {
      await moveToPostgresql(environment, postgresql);
    });
    await service.post('pki/createCertificate', newCertificate());
    await service.daemon.stop();
    await postgresql.authenticateByPeer('nobody');
  }, 300_000);

  afterAll(async () => {
    await service.remove();
    await postgresql.remove();
  });

  it('reads the state of the stopped service as the user of the service, twice in a row', async () => {
    setUser('nobody');
    const backup = join(service.environment.directory, 'made.age');
    for (const round of [1, 2]) {
      const clients = await ctl('client', 'list');
      expect([round, clients.status, clients.stdout]).toEqual([round, 0, expect.stringContaining('other')]);
      const verified = await ctl('audit', 'verify', '--no-account');
      expect([round, verified.status, verified.stderr]).toEqual([round, 0, '']);
      const compared = await ctl('state', 'compare');
      expect([round, compared.status]).toEqual([round, 0]);
      expect((await ctl('doctor')).stdout).toMatch(/good +state store +readable; 4 clients/);
      rmSync(backup, { force: true });
      const backedUp = await ctl('backup', 'create', '--recipient', recipient, '--output', backup);
      expect([round, backedUp.status, backedUp.stdout]).toEqual([round, 0, expect.stringContaining('Backup written')]);
      expect(statSync(backup).size).toBeGreaterThan(1000);
    }
  }, 300_000);

  it('says which database refuses whom, and calls it no internal error', async () => {
    setUser(undefined);
    for (const command of [
      ['client', 'list'],
      ['audit', 'verify'],
      ['state', 'compare'],
      ['backup', 'create', '--recipient', recipient, '--output', join(service.environment.directory, 'never.age')],
    ]) {
      const { status, stderr } = await ctl(...command);
      expect([command, status === 5 || status === 6, stderr]).toEqual([
        command,
        true,
        expect.stringContaining('Peer authentication failed'),
      ]);
      expect(stderr).not.toContain('internal error');
    }
    expect((await ctl('doctor')).stdout).toMatch(/fault +state store +.*Peer authentication failed/);
  }, 300_000);
});
