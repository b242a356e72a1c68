import type { WorkThreads } from '../../threads/work-threads.ts';
import { TooManySignatures, verifyAhead } from '../known-signatures.ts';
import type { PathCertificate } from './path-certificate.ts';
import { TooMuchEffort } from './path-fault.ts';

/**
 * Verifies the signatures that a search for paths may need, in a thread if they take long: those of
 * `certificates` by each other and by `anchors`, as far as the names match. The search then verifies
 * nothing itself.
 * @throws {TooMuchEffort}
 */
export async function verifyPaths(
  certificates: readonly PathCertificate[],
  anchors: readonly PathCertificate[],
  threads: Pick<WorkThreads, 'run'>,
): Promise<void> {
  const byName = Map.groupBy([...certificates, ...anchors], ({ subjectName }) => subjectName.key);
  const pairs = certificates.flatMap(({ der, issuerName }) =>
    (byName.get(issuerName.key) ?? []).map(({ subjectPublicKeyInfo }) => ({ signed: der, subjectPublicKeyInfo })),
  );
  try {
    await verifyAhead(pairs, threads);
  } catch (error) {
    if (error instanceof TooManySignatures) throw new TooMuchEffort('signatures');
    throw error;
  }
}
