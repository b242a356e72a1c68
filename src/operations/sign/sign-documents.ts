import { isFault, refusalOf } from '../../faults.ts';
import type { EvidenceDocument } from '../../documents/document.ts';
import { deliverEvidence, evidenceAtHand, openOutput, outputAtHand } from '../fields/deliver-evidence.ts';
import type { AskedSigning, InputDocumentField } from '../fields/input-documents.ts';
import type { OptionalInputs } from '../fields/evidence-output.ts';
import { documentsAtHand, openDocuments } from '../fields/open-documents.ts';
import type { Context } from '../operation.ts';
import { checkIdentityOf, checksIdentity } from '../fields/digital-identity.ts';
import type { SignatureParameters } from '../../signatures/request/parameters.ts';
import { prepareAtOnce, prepareInThread } from '../../signatures/prepare-signatures.ts';
import {
  auditedDigests,
  completeAtOnce,
  completeSignatures,
  documentsAsPrepared,
  evidenceNotices,
  signerPlan,
  type SignerPlan,
} from '../../signatures/signatures.ts';
import { Refusal } from '../../result-codes.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { TokenCannot } from '../../token/token.ts';
import type { SigningKey } from './signing-key.ts';

/** Documents to be signed in one step, as `askedSigning` accepted them. */
export interface DocumentsToSign {
  readonly asked: AskedSigning['asked'];
  readonly askedDocuments: AskedSigning['documents'];
  readonly parameters: SignatureParameters;
  readonly inputDocuments: readonly InputDocumentField[];
  readonly optionalInputs: OptionalInputs | undefined;
  readonly key: SigningKey;
}

/**
 * Signs documents with a key of the service. `answer` makes the caller's answer of the delivered
 * evidence; the commit that uses up the secret stores it.
 * @throws {Refusal}
 */
export async function signDocuments<T extends object>(
  { asked, askedDocuments, parameters, inputDocuments, optionalInputs, key }: DocumentsToSign,
  context: Context,
  answer: (delivered: readonly EvidenceDocument[], algorithm: SignatureAlgorithm) => T,
): Promise<T> {
  const { chain } = key.signer;
  const plan = signerPlan(asked, askedDocuments, key.signer);
  const opened = documentsAtHand(inputDocuments) ?? (await openDocuments(inputDocuments, context));
  try {
    const output = outputAtHand(optionalInputs) ?? (await openOutput(optionalInputs, context));
    const { documents } = opened;
    const { algorithm } = plan;
    const signatures = prepareAtOnce(plan, documents) ?? (await prepareInThread(plan, documents, context.threads));
    context.audit.digests.push(...auditedDigests(signatures));
    if (opened.areFiles) await opened.checkUnchanged();
    if (checksIdentity(parameters)) checkIdentityOf(signatures, key.identity);
    if (asked.level !== undefined) context.levels.check(asked.level, chain, algorithm);
    // One message to the token: all documents of a request use one algorithm.
    const toBeSigned = {
      algorithm,
      digests: signatures.prepared.map(({ digest }) => digest),
      documents: documentsAsPrepared(documents, signatures),
    };
    // This returns the whole answer, which is stored by the commit that consumes the secret.
    const complete = async (values: readonly Uint8Array[]): Promise<T> => {
      // Co-signed files are read in parts, so they must be unchanged since the bound digests were
      // compared.
      if (opened.areFiles) await opened.checkUnchanged();
      const byId = new Map(signatures.prepared.flatMap(({ id }, index) => (values[index] === undefined ? [] : [[id, values[index]]])));
      const evidence = completeAtOnce(signatures, byId) ?? (await completeSignatures(signatures, byId, context));
      context.notices.push(...evidenceNotices(evidence));
      const delivered =
        evidenceAtHand(output, documents, evidence, context) ?? (await deliverEvidence(output, documents, evidence, context));
      return answer(delivered, algorithm);
    };
    try {
      return await key.sign(toBeSigned, signatures, complete);
    } catch (error) {
      throw signingError(error, plan);
    }
  } finally {
    if (opened.areFiles) await opened.close();
  }
}

/**
 * Returns the refusal for an error of the step in which the token signs: a file has changed
 * meanwhile, or the token does not support the algorithm. Few tokens support MGF1 with a hash other
 * than that of the digest, and only an attempt shows whether this one does. Other errors stay as
 * they are.
 */
function signingError(error: unknown, { algorithm, algorithmAt }: SignerPlan): unknown {
  if (isFault(error, 'CONTENT_CHANGED')) {
    return refusalOf(error, { at: '/inputDocuments', message: 'a file changed while it was being signed' });
  }
  const hasOtherMgf1 = algorithm.scheme === 'RSA_PSS' && algorithm.mgfHash !== algorithm.hash;
  if (!(error instanceof TokenCannot) || algorithmAt === undefined || !hasOtherMgf1) return error;
  const message = 'the token supports MGF1 only with the hash of the digest';
  return new Refusal('UNSUPPORTED', { at: algorithmAt, message, cause: error });
}
