import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { NotRunning } from '../../admin/ask.ts';
import type { AdminRequest, KeyUsingCommand, Registration } from '../../admin/protocol.ts';
import type { AnnouncedUse } from '../../audit/announced-uses.ts';
import { administrationStep } from '../../audit/audited-request.ts';
import type { AdministrationEntry } from '../../audit/record.ts';
import { loadAdminConfig, loadFoundations } from '../../config/config.ts';
import type { StateStore } from '../../state/state-store.ts';
import { openStateStore } from '../../state/threaded-store.ts';
import { keyTrial, type KeyId } from '../../token/key-id.ts';
import type { AssignablePurpose } from '../../token/wire/messages.ts';
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
  /** Records a change of the purpose of a key, before it is made. @throws {CommandError} as `record` */
  recordPurpose(keyId: KeyId, purpose: AssignablePurpose): Promise<void>;
  /**
   * Records the command itself, before it changes the PIN of the token.
   * @throws {CommandError} as `record`
   */
  recordPinChange(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The running service writes the record itself, once another user has approved the use if that is
 * configured. While none runs, the state store keeps the record for the next start, and nobody else
 * can open it meanwhile.
 * @param command of signetctl, such as `ca certify`
 * @param opened a state store that the command has open already
 * @param registers the client that the command registers with the certificate that it signs
 */
export function useRecords(
  configPath: string,
  command: KeyUsingCommand,
  { opened, registers }: { readonly opened?: StateStore; readonly registers?: Registration | undefined } = {},
): UseRecords {
  const { state, audit } = loadFoundations(configPath);
  const { approvals } = loadAdminConfig(configPath);
  let own: StateStore | undefined;
  const commit = async (said: Partial<AdministrationEntry>): Promise<void> => {
    const store = opened ?? (own ??= await openStateStore(state, commandLog));
    const entry = { kind: 'administration' as const, request: randomUUID(), uid: process.getuid?.(), command, ...said };
    await store.commit([administrationStep(audit.name, entry).step]);
  };
  const record = async (request: AdminRequest, said: Partial<AdministrationEntry>, isApproved: boolean): Promise<void> => {
    if (!audit.enabled) return;
    if (opened === undefined && own === undefined && (await isRecordedByService(configPath, request))) return;
    if (approvals === 2 && isApproved) throw notApprovable(command);
    await commit(said);
  };
  const recordOr = async (work: Promise<void>, fault: string): Promise<void> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof CommandError && isDecision(error)) throw error;
      const exitCode = error instanceof CommandError ? error.exitCode : exitCodes.refused;
      throw new CommandError(exitCode, `${fault}: ${reasonOf(error)}`);
    }
  };
  return {
    async record({ use, certificate, message }) {
      const said = { uses: [use], certificate };
      const encoded = message === undefined ? undefined : Buffer.from(message).toString('base64');
      const request = { command: 'record use' as const, by: command, use, certificate, message: encoded, registers };
      const isFree = freeCommands.includes(command) || isTrial(message);
      await recordOr(record(request, said, !isFree), 'nothing was signed, since the audit log could not record it first');
    },
    async recordLate(use) {
      const request = { command: 'record use' as const, by: command, use };
      await recordOr(record(request, { uses: [use] }, false), 'the audit log could not record the use of a key');
    },
    async recordPurpose(keyId, purpose) {
      const request = { command: 'record purpose' as const, by: command, keyId, purpose };
      const fault = 'the purpose was not changed, since the audit log could not record it first';
      await recordOr(record(request, { purpose: { keyId, purpose } }, true), fault);
    },
    async recordPinChange() {
      const request = { command: 'record command' as const, by: 'token change-pin' as const };
      await recordOr(record(request, {}, false), 'the PIN was not changed, since the audit log could not record it first');
    },
    async close() {
      await own?.close();
    },
  };
}

/** Exit codes of interrupted commands are this and the number of the signal. */
const signalBase = 128;

/** Commands whose keys belong to no authority, so that nobody need approve their uses. */
const freeCommands: readonly KeyUsingCommand[] = ['twoddoc identity add'];

function isTrial(message: Uint8Array | undefined): boolean {
  return message !== undefined && keyTrial.equals(message);
}

/**
 * Refuses a command that needs approval and works only while signetd is stopped, before it makes
 * anything.
 * @throws {CommandError}
 */
export function checkNeedsNoApproval(configPath: string, command: KeyUsingCommand): void {
  if (freeCommands.includes(command) || loadAdminConfig(configPath).approvals === 1) return;
  throw notApprovable(command);
}

/** Whether a user decided against the command, or it was withdrawn: its message says everything. */
function isDecision({ exitCode }: CommandError): boolean {
  return exitCode === exitCodes.notApproved || exitCode > signalBase;
}

function notApprovable(command: string): CommandError {
  return new CommandError(
    exitCodes.notApproved,
    `${command} must be approved by another user (admin.approvals), and only the running service takes approvals: see docs/four-eyes.md`,
  );
}

/** Returns false if no service runs. @throws {CommandError} */
async function isRecordedByService(configPath: string, request: AdminRequest): Promise<boolean> {
  try {
    await answerOf(configPath, request, z.null());
    return true;
  } catch (error) {
    if (error instanceof NotRunning) return false;
    throw error;
  }
}
