import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { AdminFailure, askService, Interrupted, NotRunning } from '../admin/ask.ts';
import { type AdminRequest, type AdminWaiting, CommandRefused } from '../admin/protocol.ts';
import { loadAdminConfig, loadFoundations, type Config } from '../config/config.ts';
import type { StateStore } from '../state/state-store.ts';
import { readStateStore } from '../state/threaded-store.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { failingStart } from './failing-start.ts';
import { printNote } from './outcome.ts';

export interface Answered<T> {
  readonly result: T;
  readonly notes: readonly string[];
}

interface Schema<T> {
  parse(value: unknown): T;
}

/**
 * Sends a request to the running service.
 * @throws {CommandError} if it is not running, or refuses
 */
export async function ask<T>(configPath: string, request: AdminRequest, schema: Schema<T>): Promise<Answered<T>> {
  try {
    return await answerOf(configPath, request, schema);
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error;
    throw new CommandError(exitCodes.serviceUnreachable, (await failingStart(configPath)) ?? `${error.message}; start it first`);
  }
}

/**
 * The same for a read-only request: if no service is running, the state store is read directly.
 * @param read produces the service's answer from the store
 * @throws {CommandError} if the service does not answer and its state store cannot be read
 */
export async function look<T>(
  configPath: string,
  request: AdminRequest,
  { schema, read }: { readonly schema: Schema<T>; readonly read: (store: StateStore) => Promise<T> },
): Promise<Answered<T>> {
  try {
    return await answerOf(configPath, request, schema);
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error;
    return {
      result: await withStore(loadFoundations(configPath), read),
      notes: ['signetd is not running: this is the content of its state store'],
    };
  }
}

/** The same without advice. @throws {NotRunning} @throws {CommandError} */
export async function answerOf<T>(
  configPath: string,
  request: AdminRequest,
  schema: Schema<T>,
  socket: 'admin' | 'approvals' = 'admin',
): Promise<Answered<T>> {
  try {
    const { socketPath, approvalSocketPath } = loadAdminConfig(configPath);
    const answer = await askService(socket === 'admin' ? socketPath : approvalSocketPath, request, sayWaiting);
    if (answer.outcome === 'done') return { result: schema.parse(answer.result), notes: answer.notes };
    throw new CommandError(failureCodes[answer.outcome], answer.faults.join('\n'));
  } catch (error) {
    if (error instanceof AdminFailure) throw new CommandError(exitCodes.serviceUnreachable, error.message);
    if (error instanceof Interrupted) throw new CommandError(128 + constants.signals[error.signal], error.message);
    throw error;
  }
}

const failureCodes = { refused: exitCodes.refused, failed: exitCodes.faultFound, 'not approved': exitCodes.notApproved };

/** Says what somebody else must run. */
function sayWaiting({ id, until, approvers }: AdminWaiting): void {
  printNote(`request ${id} waits until ${until} for another user of the group ${approvers}, who runs: signetctl approve ${id}`);
}

async function withStore<T>({ state }: Pick<Config, 'state'>, read: (store: StateStore) => Promise<T>): Promise<T> {
  if (state.kind === 'sqlite' && !existsSync(state.path)) {
    throw new CommandError(exitCodes.serviceUnreachable, `signetd is not running, and there is no state store ${state.path}`);
  }
  let store: StateStore;
  try {
    store = await readStateStore(state);
  } catch (error) {
    const reason = reasonOf(error);
    throw new CommandError(exitCodes.serviceUnreachable, `signetd is not running, and its state store cannot be read: ${reason}`);
  }
  try {
    return await read(store);
  } catch (error) {
    if (error instanceof CommandRefused) throw new CommandError(exitCodes.refused, error.faults.join('\n'));
    throw error;
  } finally {
    await store.close();
  }
}
