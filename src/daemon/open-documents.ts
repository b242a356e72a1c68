import { warmUp } from '../twoddoc/code-picture.ts';
import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import { StagedNames } from '../documents/paths/staged-names.ts';
import { Publications } from '../documents/publications.ts';
import { TransferStore } from '../documents/transfer/transfer-store.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { transferMetrics } from '../telemetry/storage-metrics.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Parts } from './parts.ts';

interface Tools {
  readonly parts: Parts;
  readonly store: StateStore;
  readonly threads: WorkThreads;
  readonly audit: Pick<Audit, 'isRecorded'>;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Where documents come from and evidence goes to, beside the requests themselves. */
export interface OpenedDocuments {
  readonly transfers: TransferStore | undefined;
  readonly stagedNames: StagedNames;
  readonly publications: Publications;
}

/**
 * Opens the transfer store and the publications that an earlier run left. `inForce`: returns the
 * configuration in force.
 */
export async function openDocuments(
  { parts, store, threads, audit, metrics, log }: Tools,
  config: Config,
  inForce: () => Config,
): Promise<OpenedDocuments> {
  const owner = config.audit.name;
  const transfers =
    config.transferStore === undefined
      ? undefined
      : await TransferStore.open({
          ...{ store, owner, threads, log, config: config.transferStore },
          metrics: transferMetrics(metrics.registry, async () => store.run('transferShares')),
        });
  if (transfers !== undefined) parts.opened('transfer store', transfers, async () => transfers.stop());
  const stagedNames = new StagedNames(owner);
  const publications = await Publications.open({
    ...{ store, owner, names: stagedNames, transfers, log },
    isRecorded: (request) => audit.isRecorded(request),
    writeDirectories: () => writeDirectoriesOf(inForce()),
  });
  parts.opened('publications', publications, async () => publications.stop());
  void stagedNames.removeLeft(writeDirectoriesOf(config), log);
  return { transfers, stagedNames, publications };
}

/** Every directory that evidence may be written into. */
function writeDirectoriesOf({ documents, tenants }: Config): string[] {
  return [...documents.writeDirectories, ...Object.values(tenants).flatMap(({ writeDirectories }) => writeDirectories ?? [])];
}

/** Loads what pictures of 2D-Doc need, so that no request waits for it. */
export function warmUpPictures(tenants: Config['tenants']): void {
  const settings = Object.values(tenants).filter(({ twoDDoc }) => twoDDoc.identities.length > 0);
  for (const encodation of new Set(settings.map(({ twoDDoc }) => twoDDoc.encodation))) warmUp(encodation);
}
