import type { AdministrationEntry } from '../audit/record.ts';
import { fileName } from '../audit/file-names.ts';
import { keyDigest } from '../audit/checkpoint.ts';
import type { RunningAudit } from '../audit/open-audit.ts';
import type { Config } from '../config/config.ts';
import { type RequestOf, CommandRefused, type Done } from './protocol.ts';
import type { CheckpointKeyView, PrunedView } from './views.ts';

const dayMs = 24 * 60 * 60 * 1000;

export interface AuditCommands {
  readonly audit: RunningAudit;
  /** Returns the current configuration. */
  readonly config: () => Config;
}

/** Removes old files of the audit log. @throws {CommandRefused} */
export async function pruneAudit(
  { audit, config }: AuditCommands,
  { before }: RequestOf<'audit prune'>,
  entry: AdministrationEntry,
): Promise<Done> {
  return audit.administer(entry, async () => {
    const { enabled, retentionDaysMin } = config().audit;
    if (!enabled) throw new CommandRefused('the audit log is disabled (audit.enabled)');
    const latest = Date.now() - retentionDaysMin * dayMs;
    if (before > latest)
      throw new CommandRefused(
        `--before: records are kept for at least ${retentionDaysMin} days (audit.retentionDaysMin): the latest time is ${new Date(latest).toISOString()}`,
      );
    const removed = await audit.removeBefore(before);
    const result: PrunedView = {
      files: (removed?.files ?? []).map(({ name }) => name),
      last: removed === undefined ? null : { record: removed.entry.records, time: removed.lastTime },
    };
    return { value: { result } };
  });
}

/** Has another key sign the checkpoints. @throws {CommandRefused} */
export async function rotateAuditKey({ audit }: Pick<AuditCommands, 'audit'>, entry: AdministrationEntry): Promise<Done> {
  return audit.administer(entry, async () => {
    const replaced = await audit.replaceKey();
    if (replaced === undefined) throw new CommandRefused('the audit log is disabled (audit.enabled)');
    const { publicKey, former, file } = replaced;
    const result: CheckpointKeyView = {
      key: keyDigest(publicKey),
      former: keyDigest(former),
      file: file === undefined ? null : fileName(file),
    };
    return { value: { result } };
  });
}
