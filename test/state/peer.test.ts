import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withServiceUser, type StateConfig } from '../../src/config/state-config.ts';
import { databaseContents, restoreDump } from '../../src/state/snapshot/postgresql-restore.ts';
import { openSnapshot } from '../../src/state/snapshot/open-snapshot.ts';
import { openStateStore, readStateStore } from '../../src/state/threaded-store.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { recordingLog } from '../support/silent-log.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

describe.skipIf(notRoot !== undefined)(`PostgreSQL that authenticates by the user of the process${skipNote(notRoot)}`, () => {
  let server: ScratchPostgresql;
  let asRoot: StateConfig;
  let asService: StateConfig;
  let directory: string;

  beforeAll(async () => {
    server = await ScratchPostgresql.start();
    asRoot = await server.newDatabase();
    directory = mkdtempSync(join(tmpdir(), 'signetd-peer-'));
    asService = withServiceUser(asRoot, 'nobody', directory);
    await server.authenticateByPeer('nobody');
  });

  afterAll(async () => {
    await server.remove();
    rmSync(directory, { recursive: true });
  });

  it('admits the user of the service, as whom root connects, and refuses root', async () => {
    await expect(openStateStore(asRoot, recordingLog())).rejects.toThrow('Peer authentication failed');
    await expect(readStateStore(asRoot)).rejects.toThrow('Peer authentication failed');
    await expect(openSnapshot(asRoot)).rejects.toThrow('Peer authentication failed');
    for (const round of [1, 2]) {
      const store = await openStateStore(asService, recordingLog());
      await store.run('announce', { key_id: `a${round}`, intent: 'CREATE', created_at: round });
      const reading = await readStateStore(asService);
      expect(await reading.run('journal')).toHaveLength(round);
      await reading.refresh();
      await reading.close();
      await store.refresh();
      await store.close();
      // This process is as it was.
      expect([process.geteuid?.(), process.getegid?.()]).toEqual([0, 0]);
    }
  });

  it('lets its own programs save and restore a database', async () => {
    if (asService.kind !== 'postgresql') throw new Error('PostgreSQL');
    const pieces: Uint8Array[] = [];
    const snapshot = await openSnapshot(asService);
    for await (const { content } of snapshot.files()) for await (const piece of content) pieces.push(piece);
    await snapshot.close();
    const read = async function* (): AsyncGenerator<Uint8Array> {
      yield* pieces;
    };
    expect(await restoreDump(asService, read())).toMatch(/^before_restore_/);
    expect((await databaseContents(asService)).tables).toContain('keys');
  });

  it('is told by the owner of the directory of the service where the configuration names no user', () => {
    const socket: StateConfig = { ...asRoot };
    expect(withServiceUser(socket, undefined, directory)).toEqual(socket);
    expect(withServiceUser({ kind: 'sqlite', path: '/x' }, 'nobody', directory)).toEqual({ kind: 'sqlite', path: '/x' });
  });
});
