import { setTimeout as delay } from 'node:timers/promises';
import { isClockConfirmed, runWhileClockIsBehind } from '../admin/clock-commands.ts';
import { clockBehindMaxMs, newestRecordAt } from '../audit/newest-record.ts';
import { clockMetrics } from '../telemetry/storage-metrics.ts';
import { loggedIn, openApprovals } from './administration.ts';
import { databaseThread, standBy, type Start } from './stand-by.ts';

const clockPollMs = 1000;

/**
 * Before the token is used or anything is written: where the clock is more than an hour behind the
 * newest audit record, nothing is issued until it is right, or an operator says that it is. Returns at
 * once where it is not; else never: the process ends then, and the next one goes on from there.
 */
export async function standByWhileClockIsBehind(start: Start): Promise<void> {
  const { config, store, log, metrics } = start;
  if (!config.audit.enabled) return;
  const newest = await newestRecordAt(config.audit.directory);
  if (newest === undefined || !isBehind(newest) || (await isClockConfirmed(store, config.audit.name))) return;
  const reason = (): string =>
    `the clock shows ${new Date().toISOString()}, and the newest audit record is of ${new Date(newest).toISOString()}: ` +
    'set the clock, and signetd goes on by itself; if it is right and the record is not, run signetctl clock confirm';
  log.error('the service is not ready until its clock is right', { reason: reason() });
  clockMetrics(metrics.registry, () => newest);
  const confirmed = Promise.withResolvers<number>();
  const approvals = openApprovals(config.admin, loggedIn(log));
  const context = {
    ...start,
    approvals,
    newestRecordAt: newest,
    reason,
    confirmed: () => {
      confirmed.resolve(0);
    },
  };
  await standBy(start, {
    refusal: 'the service waits for the right time',
    fault: () => ({ part: 'clock', reason: reason() }),
    run: (apiAddress) => async (request, uid, peer) => runWhileClockIsBehind({ ...context, apiAddress }, request, uid, peer),
    approvals,
    over: Promise.race([confirmed.promise, right(newest)]),
    vitalSigns: [databaseThread(store)],
  });
}

function isBehind(newest: number): boolean {
  return newest - Date.now() > clockBehindMaxMs;
}

async function right(newest: number): Promise<number> {
  while (isBehind(newest)) await delay(clockPollMs);
  return 0;
}
