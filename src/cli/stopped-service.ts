import { z } from 'zod';
import { NotRunning } from '../admin/ask.ts';
import { whatToDo } from '../admin/stand-by-commands.ts';
import { ageInWords, compareState } from '../audit/compare-state.ts';
import type { Config } from '../config/config.ts';
import type { StateConfig } from '../config/state-config.ts';
import { readStateStore } from '../state/threaded-store.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { answerOf } from './service.ts';

/**
 * @param why what would go wrong if it ran
 * @throws {CommandError} if the service runs
 */
export async function checkStopped(configPath: string, why: string): Promise<void> {
  try {
    await answerOf(configPath, { command: 'status' }, z.unknown());
  } catch (error) {
    if (error instanceof NotRunning) return;
    throw error;
  }
  throw new CommandError(exitCodes.refused, `signetd runs: stop it first, since ${why}`);
}

/**
 * A record in an older store would say that the store is not older.
 * @throws {CommandError} if the state store is older than the audit log
 */
export async function checkCurrent(from: StateConfig, audit: Config['audit']): Promise<void> {
  if (!audit.enabled) return;
  const store = await readStateStore(from);
  try {
    const comparison = await compareState(store, audit);
    if (comparison.isOlder) throw new CommandError(exitCodes.refused, `${ageInWords(comparison)}; ${whatToDo}`);
  } finally {
    await store.close();
  }
}
