import { z } from 'zod';
import { isFault, refusalOf } from '../../faults.ts';
import { deliverEvidence, openOutput } from '../fields/deliver-evidence.ts';
import { askedSigning, InputDocuments } from '../fields/input-documents.ts';
import { checkKeyReference, exampleReference, KeyReference } from '../fields/key-reference.ts';
import { OptionalInputs, checkOutput } from '../fields/evidence-output.ts';
import { openDocuments } from '../fields/open-documents.ts';
import { RequestId } from '../../fields/values.ts';
import { operation } from '../operation.ts';
import { evidenceAnswer, EvidenceAnswer } from '../fields/evidence-answer.ts';
import { checkIdentityOf, checksIdentity } from '../fields/digital-identity.ts';
import { SignatureParameters } from '../../signatures/request/parameters.ts';
import {
  auditedDigests,
  completeSignatures,
  documentsAsPrepared,
  evidenceNotices,
  prepareSignatures,
  signerPlan,
  type SignerPlan,
} from '../../signatures/signatures.ts';
import { Refusal } from '../../result-codes.ts';
import { TokenCannot } from '../../token/token.ts';
import { signingKey } from './signing-key.ts';

const SignRequest = z.strictObject({
  keyReference: KeyReference,
  parameters: SignatureParameters,
  inputDocuments: InputDocuments.describe('the documents; at most 100 unless the configuration says otherwise'),
  optionalInputs: OptionalInputs.optional(),
  requestID: RequestId.optional(),
});

/** Signs documents with a key of the service, in one step (contract §5). */
export const sign = operation({
  path: 'signature/sign',
  role: 'signature',
  spelling: 'resultMajor',
  takesIdempotencyKey: true,
  summary: 'Signs documents with a key of the service, in one step.',
  request: SignRequest,
  example: {
    keyReference: exampleReference,
    parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } },
    inputDocuments: [{ ID: 'contract', fileName: 'contract.txt', plainData: { plainValue: 'Signed in Paris.' } }],
  },
  answer: EvidenceAnswer,
  async run({ keyReference, parameters, inputDocuments, optionalInputs }, context) {
    context.audit.key = keyReference.reference;
    const { asked, documents: askedDocuments } = askedSigning({ parameters, inputDocuments }, context);
    checkOutput(optionalInputs, asked);
    checkKeyReference(keyReference);

    const key = await signingKey(keyReference, asked, context);
    const { chain } = key.signer;
    const plan = signerPlan(asked, askedDocuments, key.signer);
    const opened = await openDocuments(inputDocuments, context);
    try {
      const output = await openOutput(optionalInputs, context);
      const { documents } = opened;
      const { algorithm } = plan;
      const signatures = await prepareSignatures(plan, documents, context.threads);
      context.audit.digests.push(...auditedDigests(signatures));
      await opened.checkUnchanged();
      if (checksIdentity(parameters)) checkIdentityOf(signatures, key.identity);
      if (asked.level !== undefined) context.levels.check(asked.level, chain, algorithm);
      // One message to the token: all documents of a request use one algorithm.
      const toBeSigned = {
        algorithm,
        digests: signatures.prepared.map(({ digest }) => digest),
        documents: documentsAsPrepared(documents, signatures),
      };
      // This returns the whole answer, which is stored by the commit that consumes the secret.
      const complete = async (values: readonly Uint8Array[]): Promise<EvidenceAnswer> => {
        // Co-signed files are read in parts, so they must be unchanged since the bound digests were
        // compared.
        await opened.checkUnchanged();
        const byId = new Map(signatures.prepared.flatMap(({ id }, index) => (values[index] === undefined ? [] : [[id, values[index]]])));
        const evidence = await completeSignatures(signatures, byId, context);
        context.notices.push(...evidenceNotices(evidence));
        return evidenceAnswer(await deliverEvidence(output, documents, evidence, context), algorithm);
      };
      return await withTokensAbility(plan, async () => unlessChanged(async () => key.sign(toBeSigned, signatures, complete)));
    } finally {
      await opened.close();
    }
  },
});

/** Refuses the request if a file changes while it is being signed. */
async function unlessChanged<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isFault(error, 'CONTENT_CHANGED')) throw error;
    throw refusalOf(error, { at: '/inputDocuments', message: 'a file changed while it was being signed' });
  }
}

/**
 * Runs `work`, in which the token signs. Few tokens support MGF1 with a hash other than that of the
 * digest, and only an attempt shows whether this one does.
 * @throws {Refusal} UNSUPPORTED if the token does not support it
 * @throws the errors of `work`
 */
async function withTokensAbility<T>({ algorithm, algorithmAt }: SignerPlan, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (
      !(error instanceof TokenCannot) ||
      algorithmAt === undefined ||
      algorithm.scheme !== 'RSA_PSS' ||
      algorithm.mgfHash === algorithm.hash
    )
      throw error;
    throw new Refusal('UNSUPPORTED', {
      at: algorithmAt,
      message: 'the token supports MGF1 only with the hash of the digest',
      cause: error,
    });
  }
}
