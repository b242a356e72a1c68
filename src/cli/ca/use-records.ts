import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { NotRunning } from '../../admin/ask.ts';
import type { KeyUsingCommand } from '../../admin/protocol.ts';
import type { AnnouncedUse } from '../../audit/announced-uses.ts';
import { administrationStep } from '../../audit/audited-request.ts';
import { loadFoundations } from '../../config/config.ts';
import type { StateStore } from '../../state/state-store.ts';
import { openStateStore } from '../../state/threaded-store.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { answerOf } from '../service.ts';
import { commandLog } from './command-log.ts';

/** Records the uses of keys by one command of signetctl, each before the key is used. */
export interface UseRecords {
  /** @throws {CommandError} if nobody can record it */
  record(use: AnnouncedUse): Promise<void>;
  /**
   * Records a use of which nothing was known before: the MAC of a new secret.
   * @throws {CommandError} if nobody can record it
   */
  recordLate(use: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The running service writes the record itself. While none runs, the state store keeps it for the
 * next start, and nobody else can open it meanwhile.
 * @param command of signetctl, such as `ca certify`
 * @param opened a state store that the command has open already
 */
export function useRecords(configPath: string, command: KeyUsingCommand, opened?: StateStore): UseRecords {
  const { state, audit } = loadFoundations(configPath);
  let own: StateStore | undefined;
  const commit = async ({ use, certificate }: AnnouncedUse): Promise<void> => {
    const store = opened ?? (own ??= await openStateStore(state, commandLog));
    const entry = { kind: 'administration' as const, request: randomUUID(), uid: process.getuid?.(), command, uses: [use], certificate };
    await store.commit([administrationStep(audit.name, entry).step]);
  };
  const record = async (use: AnnouncedUse): Promise<void> => {
    if (!audit.enabled) return;
    if (opened === undefined && own === undefined && (await isRecordedByService(configPath, command, use))) return;
    await commit(use);
  };
  const recordOr = async (use: AnnouncedUse, fault: string): Promise<void> => {
    try {
      await record(use);
    } catch (error) {
      const exitCode = error instanceof CommandError ? error.exitCode : exitCodes.refused;
      throw new CommandError(exitCode, `${fault}: ${reasonOf(error)}`);
    }
  };
  return {
    record: async (use) => recordOr(use, 'nothing was signed, since the audit log could not record it first'),
    recordLate: async (use) => recordOr({ use }, 'the audit log could not record the use of a key'),
    async close() {
      await own?.close();
    },
  };
}

/** Returns false if no service runs. @throws {CommandError} */
async function isRecordedByService(configPath: string, by: KeyUsingCommand, { use, certificate }: AnnouncedUse): Promise<boolean> {
  try {
    await answerOf(configPath, { command: 'record use', by, use, certificate }, z.null());
    return true;
  } catch (error) {
    if (error instanceof NotRunning) return false;
    throw error;
  }
}
