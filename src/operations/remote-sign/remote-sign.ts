import { z } from 'zod';
import { OptionalInputs, checkOutput } from '../fields/evidence-output.ts';
import { deliverEvidence, openOutput } from '../fields/deliver-evidence.ts';
import { RequestId, Text } from '../../fields/values.ts';
import { operation, type Context } from '../operation.ts';
import { evidenceAnswer, EvidenceAnswer } from '../fields/evidence-answer.ts';
import { auditedDigests, completeSignatures, evidenceNotices, type SignatureEvidence } from '../../signatures/signatures.ts';
import { DocumentsAgain, namingDocument } from './documents-again.ts';
import { checkIds, SignatureValues, valueMapping, type ValueMapping } from './signature-values.ts';
import { Refusal } from '../../result-codes.ts';
import type { OpenSession } from '../../signatures/sessions/open-session.ts';
import { documentsToRead } from '../../signatures/sessions/session-state.ts';
import { verifiedValues } from '../../signatures/sessions/verify-values.ts';

const RemoteSignRequest = z.strictObject({
  signatureThreadId: Text.describe('as returned by remotePreSign'),
  signatureValues: SignatureValues,
  optionalInputs: OptionalInputs.optional(),
  requestID: RequestId.optional(),
});

/**
 * Completes signatures that remotePreSign prepared, with values made elsewhere (contract §5). A
 * failure leaves the session open.
 */
export const remoteSign = operation({
  path: 'signature/remoteSign',
  role: 'signature',
  spelling: 'resultMajor',
  takesIdempotencyKey: true,
  summary: 'Completes a signature that remotePreSign prepared, with values made elsewhere.',
  request: RemoteSignRequest,
  example: {
    signatureThreadId: 'pZ0aXxqRjDqk2v1oYJ7y0bM5cQ8eWn3LhTg6uKfS4iA',
    signatureValues: { signatureValueMapping: [{ id: 'contract', signatureValue: 'MEUCIQDk' }] },
  },
  answer: EvidenceAnswer,
  async run({ signatureThreadId, signatureValues, optionalInputs }, context) {
    const { caller, config, sessions } = context;
    const mapping = valueMapping(signatureValues);
    checkOutput(optionalInputs, { isText: true });
    return sessions.whileOpen(caller.tenant, signatureThreadId, config.sessions, async (session) => {
      const { documents, signatures } = session.state;
      checkOutput(optionalInputs, signatures);
      const { chain, algorithm, prepared } = signatures;
      context.audit.key = chain?.certificate.sha1Fingerprint;
      context.audit.digests.push(...auditedDigests(signatures));
      checkIds(prepared, mapping);
      const again = await DocumentsAgain.open(documentsToRead(session.state), context);
      try {
        const output = await openOutput(optionalInputs, context);
        const evidence = await completeSession(session, { again, values: mapping }, context);
        context.notices.push(...evidenceNotices(evidence));
        const answer = evidenceAnswer(await deliverEvidence(output, documents, evidence, context), algorithm);
        // Before this, nothing that was delivered is visible.
        await again.checkUnchanged();
        await sessions.close(session, answer);
        return answer;
      } finally {
        await again.close();
      }
    });
  },
});

/**
 * Returns the evidence of a session's signatures. Files are read once the values are known to be
 * right: they can be large.
 * @throws {Refusal} SIGNATURE_VALUE_INVALID; DOCUMENT_INVALID if a file changed; the refusals of
 * levels above baseline B
 */
async function completeSession(
  session: OpenSession,
  { again, values }: { readonly again: DocumentsAgain; readonly values: ValueMapping },
  context: Pick<Context, 'threads' | 'levels'>,
): Promise<readonly SignatureEvidence[]> {
  const rightValues = await checkedValues(session, values, context);
  const contents = await again.compared(context.threads);
  const signatures = await session.signatures(contents);
  return completeSignatures(signatures, rightValues, context).catch((error: unknown) => {
    throw namingDocument(error, session.state.documents);
  });
}

/** Returns the values, verified if there is a certificate, each in the form that formats expect. */
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
