import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newCertificate } from '../support/own-service.ts';
import { DatabaseProxy } from '../support/database-proxy.ts';
import type { ScratchPostgresql } from '../support/postgresql.ts';
import { noSeveralInstances, SeveralInstances } from '../support/several-instances.ts';
import { skipNote } from '../support/skip-note.ts';
import { BalancedCaller } from './balanced-caller.ts';
import { holdsOver } from './holds-over.ts';

describe.skipIf(noSeveralInstances !== undefined)(
  `two instances whose database fails over to a standby${skipNote(noSeveralInstances)}`,
  () => {
    let several: SeveralInstances;
    let proxy: DatabaseProxy;
    let primary: ScratchPostgresql;
    const standbys: ScratchPostgresql[] = [];

    beforeAll(async () => {
      several = await SeveralInstances.start({}, async (postgresql) => {
        primary = postgresql;
        proxy = await DatabaseProxy.start(postgresql);
        return proxy.host;
      });
    });
    afterAll(async () => {
      await several.stop();
      await proxy.stop();
      for (const standby of standbys) await standby.remove();
    });

    const newStandby = async (): Promise<ScratchPostgresql> => {
      const standby = await primary.startStandby();
      standbys.push(standby);
      await primary.replicateSynchronously();
      return standby;
    };

    /** Every instance refuses to work, and says why. */
    async function isRefused(reason: RegExp): Promise<void> {
      const caller = new BalancedCaller(several.environment);
      for (const { baseUrl, opsUrl } of several.instances) {
        const answer = await caller.ask(baseUrl, 'pki/createCertificate', newCertificate());
        expect([answer.status, answer.retryAfter]).toEqual([503, '1']);
        await expect.poll(async () => (await fetch(`${opsUrl}/health/ready`)).text()).toMatch(reason);
      }
      caller.close();
    }

    it('the primary crashes: what was acknowledged is at the standby, and the instances go on with it by themselves', async () => {
      const standby = await newStandby();
      await holdsOver(
        several,
        'failover after a crash of the primary',
        async () => {
          await primary.stop('immediate');
          await isRefused(/"state":/);
          // A standby that is not promoted yet is refused.
          await proxy.switchTo(standby);
          await isRefused(/"state":/);
          await standby.promote();
          primary = standby;
        },
        () => primary,
      );
    }, 400_000);

    it('the primary no longer answers, and comes back too late: nobody writes to it or reads from it', async () => {
      const standby = await newStandby();
      const old = primary;
      await holdsOver(
        several,
        'failover from a primary that hangs',
        async () => {
          old.pause();
          await isRefused(/"state":/);
          await standby.promote();
          await proxy.switchTo(standby);
          primary = standby;
          for (const { daemon } of several.instances) await daemon.ready();
          old.resume();
          const connections = "select 1 from pg_stat_activity where application_name = 'signetd'";
          await expect.poll(async () => old.query('postgres', connections)).toEqual([]);
        },
        () => primary,
      );
    }, 400_000);

    it('no standby answers: nothing is acknowledged until one does', async () => {
      const standby = await newStandby();
      await holdsOver(
        several,
        'loss of the only standby',
        async () => {
          await standby.stop();
          await isRefused(/"state":/);
          await standby.restart();
        },
        () => primary,
      );
    }, 400_000);
  },
);
