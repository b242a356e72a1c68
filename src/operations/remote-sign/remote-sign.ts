import { z } from 'zod';
import { OptionalInputs, checkOutput } from '../fields/evidence-output.ts';
import { deliverEvidence, openOutput } from '../fields/deliver-evidence.ts';
import { RequestId, Text } from '../../fields/values.ts';
import { operation } from '../operation.ts';
import { evidenceAnswer, EvidenceAnswer } from '../sign/evidence-answer.ts';
import { auditedDigests } from '../../signatures/signatures.ts';
import { completeSession } from './complete-session.ts';
import { SignatureValues, valueMapping, valuesFor } from './signature-values.ts';

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
      const { documents, signing } = session.state;
      if (signing.kind === 'prepared') {
        const { signatures, signer } = signing;
        context.audit.key = signer.certificate.sha1Fingerprint;
        context.audit.digests.push(...auditedDigests(signatures));
      }
      const values = valuesFor(
        documents.map(({ id }) => id),
        mapping,
      );
      const output = await openOutput(optionalInputs, context);
      const evidence = await completeSession(session, values, context);
      const { algorithm } = signing.kind === 'prepared' ? signing.signatures : signing;
      const answer = evidenceAnswer(await deliverEvidence(output, documents, evidence, context), algorithm);
      await sessions.close(session, answer);
      return answer;
    });
  },
});
