import { deliverEvidence, openOutput } from '../../../src/operations/fields/deliver-evidence.ts';
import { evidenceAnswer } from '../../../src/operations/fields/evidence-answer.ts';
import { checkOutput, type OptionalInputs } from '../../../src/operations/fields/evidence-output.ts';
import { askedSigning, type InputDocumentField } from '../../../src/operations/fields/input-documents.ts';
import { checkIdentityOf, checksIdentity } from '../../../src/operations/fields/digital-identity.ts';
import { checkKeyReference, type KeyReference } from '../../../src/operations/fields/key-reference.ts';
import { openDocuments } from '../../../src/operations/fields/open-documents.ts';
import type { InputDocument } from '../../../src/documents/document.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { parseRequest } from '../../../src/operations/parse-request.ts';
import { sign } from '../../../src/operations/sign/sign.ts';
import { signingKey } from '../../../src/operations/sign/signing-key.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { prepareAtOnce, prepareInThread } from '../../../src/signatures/prepare-signatures.ts';
import type { SignatureParameters } from '../../../src/signatures/request/parameters.ts';
import {
  auditedDigests,
  completeSignatures,
  documentsAsPrepared,
  evidenceNotices,
  signerPlan,
  type SignerPlan,
} from '../../../src/signatures/signatures.ts';

/** A request of `sign` as its schema returns it. */
export interface SignRequest {
  readonly keyReference: KeyReference;
  readonly parameters: SignatureParameters;
  readonly inputDocuments: readonly InputDocumentField[];
  readonly optionalInputs?: OptionalInputs | undefined;
}

/** Whether documents are prepared in a thread: then the secret is verified first. */
function isForThread(plan: SignerPlan, documents: readonly InputDocument[]): boolean {
  try {
    return prepareAtOnce(plan, documents) === undefined;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/**
 * `sign` on the general way alone: nothing is answered at once from memory. Documents are opened, prepared in a
 * thread, completed and delivered by the functions that wait. Only a key of a store that is shared is looked up so.
 */
export const signGenerally: Operation = {
  ...sign,
  async handle(body, context) {
    // The schema is that of `sign`.
    const { keyReference, parameters, inputDocuments, optionalInputs } = parseRequest(sign.request, body) as SignRequest;
    context.audit.key = keyReference.reference;
    const { asked, documents: askedDocuments } = askedSigning({ parameters, inputDocuments }, context);
    checkOutput(optionalInputs, asked);
    checkKeyReference(keyReference);
    const key = await signingKey(keyReference, asked, context);
    const plan = signerPlan(asked, askedDocuments, key.signer);
    const opened = await openDocuments(inputDocuments, context);
    try {
      const output = await openOutput(optionalInputs, context);
      const { documents } = opened;
      const { algorithm } = plan;
      if (isForThread(plan, documents)) await key.confirm();
      const signatures = await prepareInThread(plan, documents, context.threads);
      context.audit.digests.push(...auditedDigests(signatures));
      await opened.checkUnchanged();
      if (checksIdentity(parameters)) checkIdentityOf(signatures, key.identity);
      if (asked.level !== undefined) await context.levels.check(asked.level, key.signer.chain, algorithm);
      const digests = signatures.prepared.map(({ digest }) => digest);
      const toBeSigned = { algorithm, digests, documents: documentsAsPrepared(documents, signatures) };
      return await key.sign(toBeSigned, signatures.prepared, async (values) => {
        const byId = new Map(signatures.prepared.map(({ id }, index) => [id, values[index] ?? new Uint8Array()]));
        const evidence = await completeSignatures(signatures, byId, context);
        context.notices.push(...evidenceNotices(evidence));
        return evidenceAnswer(await deliverEvidence(output, documents, evidence, context), algorithm);
      });
    } finally {
      await opened.close();
    }
  },
};
