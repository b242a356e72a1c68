import { Refusal } from '../../result-codes.ts';
import type { OpenSession } from '../../signatures/sessions/open-session.ts';
import { verifiedValues } from '../../signatures/sessions/verify-values.ts';
import { completeSignatures, type SignatureEvidence } from '../../signatures/signatures.ts';
import type { Context } from '../operation.ts';
import type { ValueMapping } from './signature-values.ts';

/**
 * Returns the evidence of a session's signatures.
 * @throws {Refusal} SIGNATURE_VALUE_INVALID; what levels above baseline B are refused with
 */
export async function completeSession(
  session: OpenSession,
  values: ValueMapping,
  context: Pick<Context, 'threads' | 'levels'>,
): Promise<readonly SignatureEvidence[]> {
  const rightValues = await checkedValues(session, values, context);
  return completeSignatures(await session.signatures(), rightValues, context);
}

/** Values under a certificate, each in the form that formats take; without a certificate nobody can verify them. */
async function checkedValues(
  { state: { signatures } }: OpenSession,
  values: ValueMapping,
  { threads }: Pick<Context, 'threads'>,
): Promise<ValueMapping> {
  const { chain, algorithm, prepared } = signatures;
  if (chain === undefined || algorithm === undefined) return values;
  const toVerify = prepared.map(({ id, digest }) => ({ id, digest, value: values.get(id) ?? new Uint8Array() }));
  const verified = await verifiedValues({ publicKey: chain.publicKey, algorithm, values: toVerify }, threads);
  return new Map(
    toVerify.map(({ id }, index) => {
      const value = verified[index];
      if (value !== undefined) return [id, value];
      throw new Refusal('SIGNATURE_VALUE_INVALID', {
        message: `the signature value of ${JSON.stringify(id)} does not verify under the signer certificate; the session stays open`,
      });
    }),
  );
}
