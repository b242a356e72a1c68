import { NotHandedOver } from '../audit/syslog/hand-over.ts';
import { ConfigError } from '../config/config-error.ts';
import { Refusal } from '../result-codes.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { Logger } from '../telemetry/log.ts';
import { type AdminAnswer, CommandRefused, type Done, NotApproved } from './protocol.ts';
import { logNotReloaded } from './reload.ts';

/** Does the work of a command and returns its answer, whatever happens. */
export async function answered(command: string, log: Logger, work: () => Promise<Done>): Promise<AdminAnswer> {
  try {
    const { result, notes = [] } = await work();
    return { outcome: 'done', result, notes: [...notes] };
  } catch (error) {
    return failed(error, command, log);
  }
}

function failed(error: unknown, command: string, log: Logger): AdminAnswer {
  if (error instanceof CommandRefused) return { outcome: 'refused', faults: [...error.faults] };
  if (error instanceof NotApproved) return { outcome: 'not approved', faults: [error.message] };
  if (error instanceof ConfigError) {
    logNotReloaded(log, error);
    return { outcome: 'refused', faults: error.message.split('\n') };
  }
  // Thrown before anything is done.
  if (error instanceof NotHandedOver) return { outcome: 'refused', faults: [`nothing was done: ${error.message}; see signetctl status`] };
  if (error instanceof Refusal || error instanceof StoreUnavailable) {
    log.error('a command of signetctl failed', { command, reason: error.message });
    return {
      outcome: 'failed',
      faults: [`${error.message}; it is not certain that nothing was changed: check before you repeat the command`],
    };
  }
  log.error('internal error', { command, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return { outcome: 'failed', faults: ['internal error of signetd; see its log'] };
}
