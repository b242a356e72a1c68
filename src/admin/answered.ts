import { NotWritable } from '../audit/group-writer.ts';
import { NotHandedOver } from '../audit/syslog/hand-over.ts';
import { ConfigError } from '../config/config-error.ts';
import { Refusal } from '../result-codes.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { Logger } from '../telemetry/log.ts';
import { TokenUnavailable } from '../token/token.ts';
import { type AdminAnswer, type CommandName, CommandRefused, type Done, NotApproved } from './protocol.ts';
import { logNotReloaded } from './reload.ts';

/**
 * Commands that change nothing: they look, or have something recorded that signetctl does itself,
 * later.
 */
const changingNothing: ReadonlySet<CommandName> = new Set<CommandName>([
  ...(['client list', 'client list revoked', 'key list', 'key show', 'pool list', 'identity list'] as const),
  ...(['mac status', 'answers status', 'state compare', 'status', 'approvals', 'console'] as const),
  ...(['backup create', 'backup end', 'record use', 'record purpose', 'record command'] as const),
]);

/** The answer to a command that failed for this reason, perhaps after it had changed something. */
export function failedFor(command: CommandName, reason: string): AdminAnswer {
  const change = changingNothing.has(command)
    ? 'nothing was changed'
    : 'it is not certain that nothing was changed: check before you repeat the command';
  return { outcome: 'failed', faults: [`${reason}; ${change}`] };
}

/** Does the work of a command and returns its answer, whatever happens. */
export async function answered(command: CommandName, log: Logger, work: () => Promise<Done>): Promise<AdminAnswer> {
  try {
    const { result, notes = [] } = await work();
    return { outcome: 'done', result, notes: [...notes] };
  } catch (error) {
    return failed(error, command, log);
  }
}

function failed(error: unknown, command: CommandName, log: Logger): AdminAnswer {
  if (error instanceof CommandRefused) return { outcome: 'refused', faults: [...error.faults] };
  if (error instanceof NotApproved) return { outcome: 'not approved', faults: [error.message] };
  if (error instanceof ConfigError) {
    logNotReloaded(log, error);
    return { outcome: 'refused', faults: error.message.split('\n') };
  }
  // Thrown before anything is done.
  if (error instanceof NotHandedOver || error instanceof NotWritable)
    return {
      outcome: error instanceof NotWritable ? 'failed' : 'refused',
      faults: [`nothing was done: ${error.message}; see signetctl status`],
    };
  if (error instanceof Refusal || error instanceof StoreUnavailable || error instanceof TokenUnavailable) {
    const { message: reason } = error;
    log.error('a command of signetctl failed', { command, reason });
    if (error instanceof TokenUnavailable && error.nothingDone) return { outcome: 'failed', faults: [`nothing was done: ${reason}`] };
    return failedFor(command, reason);
  }
  log.error('internal error', { command, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return { outcome: 'failed', faults: ['internal error of signetd; see its log'] };
}
