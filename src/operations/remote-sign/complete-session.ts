import type { Evidence } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import { completeSignatures } from '../../signatures/prepared-signatures.ts';
import { bareValue } from '../../signatures/raw/raw.ts';
import type { OpenSession } from '../../signatures/sessions/open-session.ts';
import { verifiedValues } from '../../signatures/sessions/verify-values.ts';
import type { Context } from '../operation.ts';

/**
 * The evidence of every document. `values` are in the order of the session's documents.
 * @throws {Refusal} SIGNATURE_VALUE_INVALID, and what levels above baseline B are refused with
 */
export async function completeSession(
  session: OpenSession,
  values: readonly Uint8Array[],
  context: Pick<Context, 'threads' | 'levels'>,
): Promise<readonly Evidence[]> {
  const { signing, documents } = session.state;
  if (signing.kind === 'bare') return values.map(bareValue);
  const { signatures, signer } = signing;
  const { algorithm, prepared } = signatures;
  const toVerify = prepared.map(({ digest }, index) => ({ digest, value: at(values, index) }));
  const verified = await verifiedValues({ publicKey: signer.publicKey, algorithm, values: toVerify }, context.threads);
  const right = verified.map((value, index) => {
    if (value !== undefined) return value;
    const id = JSON.stringify(documents[index]?.id);
    throw new Refusal('SIGNATURE_VALUE_INVALID', {
      message: `the signature value of ${id} does not verify under the signer certificate; the session stays open`,
    });
  });
  return completeSignatures(signatures, { values: right, signer, documents: await session.documents() }, context);
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} in a list of ${list.length}`);
  return value;
}
