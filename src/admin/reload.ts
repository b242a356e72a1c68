import { randomUUID } from 'node:crypto';
import type { Audit } from '../audit/audit.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import type { Reloader } from '../config/reloader.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { Done } from './protocol.ts';

export interface ReloadContext {
  readonly reloader: Reloader;
  readonly audit: Audit;
  readonly log: Logger;
}

/**
 * Reloads the configuration file, and records who requested it and what changed.
 * @throws {ConfigError} if it is invalid; then nothing changes
 */
export async function reloadConfiguration({ reloader, audit, log }: ReloadContext, entry: AdministrationEntry): Promise<Done> {
  return audit.administer(entry, async () => {
    const changed = await reloader.reload();
    log.info('configuration reloaded', { changed });
    return { value: { result: { changed } }, said: { changed } };
  });
}

/** Reloads for SIGHUP; the service log and the audit log record the result. */
export async function reloadBySignal(context: ReloadContext): Promise<void> {
  const entry: AdministrationEntry = { kind: 'administration', request: randomUUID(), command: 'SIGHUP' };
  try {
    await reloadConfiguration(context, entry);
  } catch (error) {
    logNotReloaded(context.log, error);
  }
}

export function logNotReloaded(log: Logger, error: unknown): void {
  const text = reasonOf(error);
  log.error('configuration not reloaded; the previous one stays in effect', { faults: text.split('\n') });
}
