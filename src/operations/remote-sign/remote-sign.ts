import { z } from 'zod';
import { OptionalInputs, checkOutput } from '../fields/evidence-output.ts';
import { deliverEvidence, openOutput } from '../fields/deliver-evidence.ts';
import { RequestId, Text } from '../../fields/values.ts';
import { operation } from '../operation.ts';
import { evidenceAnswer, EvidenceAnswer } from '../sign/evidence-answer.ts';
import { auditedDigests } from '../../signatures/signatures.ts';
import { completeSession } from './complete-session.ts';
import { checkIds, SignatureValues, valueMapping } from './signature-values.ts';

const RemoteSignRequest = z.strictObject({
  signatureThreadId: Text.describe('as remotePreSign answered it'),
  signatureValues: SignatureValues,
  optionalInputs: OptionalInputs.optional(),
  requestID: RequestId.optional(),
});

/** Completes what remotePreSign prepared, with values made elsewhere (contract §5). Whatever fails before leaves the session open. */
export const remoteSign = operation({
  path: 'signature/remoteSign',
  role: 'signature',
  spelling: 'resultMajor',
  takesIdempotencyKey: true,
  summary: 'Completes a signature that remotePreSign prepared, with the values that were made elsewhere.',
  request: RemoteSignRequest,
  example: {
    signatureThreadId: 'pZ0aXxqRjDqk2v1oYJ7y0bM5cQ8eWn3LhTg6uKfS4iA',
    signatureValues: { signatureValueMapping: [{ id: 'contract', signatureValue: 'MEUCIQDk' }] },
  },
  answer: EvidenceAnswer,
  async run({ signatureThreadId, signatureValues, optionalInputs }, context) {
    const { caller, config, sessions } = context;
    const mapping = valueMapping(signatureValues);
    checkOutput(optionalInputs);
    return sessions.whileOpen(caller.tenant, signatureThreadId, config.sessions, async (session) => {
      const { documents, signatures } = session.state;
      const { chain, algorithm, prepared } = signatures;
      context.audit.key = chain?.certificate.sha1Fingerprint;
      context.audit.digests.push(...auditedDigests(signatures));
      checkIds(prepared, mapping);
      const output = await openOutput(optionalInputs, context);
      const evidence = await completeSession(session, mapping, context);
      const answer = evidenceAnswer(await deliverEvidence(output, documents, evidence, context), algorithm);
      await sessions.close(session, answer);
      return answer;
    });
  },
});
