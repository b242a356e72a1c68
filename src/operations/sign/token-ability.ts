import { Refusal } from '../../result-codes.ts';
import { rawAt } from '../../signatures/raw/raw-algorithm.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { TokenCannot } from '../../token/token.ts';

/**
 * Has the token sign. Few tokens support MGF1 with another hash than the digest's, and none says so
 * before it is asked. @throws {Refusal} UNSUPPORTED where it cannot; what `work` throws
 */
export async function withTokensAbility<T>(algorithm: SignatureAlgorithm, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TokenCannot) || algorithm.scheme !== 'RSA_PSS' || algorithm.mgfHash === algorithm.hash) throw error;
    throw new Refusal('UNSUPPORTED', {
      at: `${rawAt}/signatureAlgorithmParameters`,
      message: 'the token supports MGF1 only with the hash of the digest',
      cause: error,
    });
  }
}
