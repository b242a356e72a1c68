import { randomUUID } from 'node:crypto';
import type { Audit } from '../audit/audit.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import type { Reloader } from '../config/reloader.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { Done } from './refused.ts';

export interface ReloadContext {
  readonly reloader: Reloader;
  readonly audit: Audit;
  readonly log: Logger;
}

/** Takes over the configuration file, and records who had it taken over and what changed. @throws {ConfigError} all is as it was */
export async function reloadConfiguration({ reloader, audit, log }: ReloadContext, entry: AdministrationEntry): Promise<Done> {
  return audit.administer(entry, async () => {
    const changed = await reloader.reload();
    log.info('the configuration is reloaded', { changed });
    return { value: { result: { changed } }, said: { changed } };
  });
}

/** The same for SIGHUP: the log and the audit log say how it ended. */
export async function reloadBySignal(context: ReloadContext): Promise<void> {
  const entry: AdministrationEntry = { kind: 'administration', request: randomUUID(), command: 'SIGHUP' };
  try {
    await reloadConfiguration(context, entry);
  } catch (error) {
    sayNotReloaded(context.log, error);
  }
}

export function sayNotReloaded(log: Logger, error: unknown): void {
  const text = reasonOf(error);
  log.error('the configuration is not reloaded; the one before stays valid', { faults: text.split('\n') });
}
