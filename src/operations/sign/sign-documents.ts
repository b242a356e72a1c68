import { isFault, refusalOf } from '../../faults.ts';
import type { EvidenceDocument } from '../../documents/document.ts';
import { deliverEvidence, evidenceAtHand, openOutput, outputAtHand, type Output } from '../fields/deliver-evidence.ts';
import type { AskedSigning, InputDocumentField } from '../fields/input-documents.ts';
import type { OptionalInputs } from '../fields/evidence-output.ts';
import { documentsAtHand, openDocuments, type OpenedDocuments } from '../fields/open-documents.ts';
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
  type PreparedSignatures,
  type SignerPlan,
} from '../../signatures/signatures.ts';
import { Refusal } from '../../result-codes.ts';
import { mapSome } from '../../service/map-some.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { TokenCannot } from '../../token/token.ts';
import type { SigningKey } from './signing-key.ts';

/** Documents to be signed in one step and in one format, as `askedSigning` accepted them. */
export interface DocumentsToSign {
  readonly asked: AskedSigning['asked'];
  readonly askedDocuments: AskedSigning['documents'];
  readonly parameters: SignatureParameters;
  readonly inputDocuments: readonly InputDocumentField[];
  readonly optionalInputs: OptionalInputs | undefined;
}

/** Documents of one format that are ready for the token. */
interface ReadyDocuments {
  readonly opened: OpenedDocuments;
  readonly output: Output;
  readonly signatures: PreparedSignatures;
}

/**
 * Signs documents with a key of the service, in one format. `answer` makes the caller's answer of
 * the delivered evidence; the commit that uses up the secret stores it.
 * @throws {Refusal}
 */
export function signDocuments<T extends object>(
  documents: DocumentsToSign,
  key: SigningKey,
  context: Context,
  answer: (delivered: readonly EvidenceDocument[], algorithm: SignatureAlgorithm) => T,
): Promise<T> {
  return signInFormats([documents], key, context, ([delivered = []], algorithm) => answer(delivered, algorithm));
}

/**
 * As `signDocuments`, in several formats: one message to the token signs all of them, so they use
 * one algorithm. The evidence is in the order of the formats.
 * @throws {Refusal}
 */
export async function signInFormats<T extends object>(
  formats: readonly DocumentsToSign[],
  key: SigningKey,
  context: Context,
  answer: (delivered: readonly (readonly EvidenceDocument[])[], algorithm: SignatureAlgorithm) => T,
): Promise<T> {
  const plans = formats.map(({ asked, askedDocuments }) => signerPlan(asked, askedDocuments, key.signer));
  const plan = planOfAll(plans);
  const { algorithm, chain } = plan;
  const all: OpenedDocuments[] = [];
  let confirming: Promise<void> | undefined;
  const confirmed = async (): Promise<void> => (confirming ??= key.confirm());
  try {
    const ready: ReadyDocuments[] = [];
    for (const [index, { asked, parameters, inputDocuments, optionalInputs }] of formats.entries()) {
      const opened = documentsAtHand(inputDocuments) ?? (await openDocuments(inputDocuments, context));
      all.push(opened);
      const output = outputAtHand(optionalInputs) ?? (await openOutput(optionalInputs, context));
      const ofFormat = plans[index] ?? plan;
      let signatures = prepareAtOnce(ofFormat, opened.documents);
      if (signatures === undefined) {
        // Threads are few: they work for those alone who may sign.
        await confirmed();
        signatures = await prepareInThread(ofFormat, opened.documents, context.threads);
      }
      context.audit.digests.push(...auditedDigests(signatures));
      if (opened.areFiles) await opened.checkUnchanged();
      if (checksIdentity(parameters)) checkIdentityOf(signatures, key.identity);
      if (asked.level !== undefined) await context.levels.check(asked.level, chain, algorithm);
      ready.push({ opened, output, signatures });
    }
    const prepared = ready.flatMap(({ signatures }) => signatures.prepared);
    // One message to the token: all documents of a request use one algorithm.
    const toBeSigned = {
      algorithm,
      digests: prepared.map(({ digest }) => digest),
      documents: ready.flatMap(({ opened, signatures }) => documentsAsPrepared(opened.documents, signatures)),
    };
    // This returns the whole answer, which is stored by the commit that consumes the secret.
    const complete = async (values: readonly Uint8Array[]): Promise<T> => {
      const valued = withValues(ready, values);
      const [only, ...others] = valued;
      const delivered =
        only !== undefined && others.length === 0
          ? [await completed(only, context)]
          : await mapSome(valued, async (documents) => completed(documents, context));
      return answer(delivered, algorithm);
    };
    try {
      return await key.sign(toBeSigned, prepared, complete);
    } catch (error) {
      throw signingError(error, plan);
    }
  } finally {
    for (const opened of all) if (opened.areFiles) await opened.close();
  }
}

interface ValuedDocuments extends ReadyDocuments {
  readonly values: readonly Uint8Array[];
}

function withValues(ready: readonly ReadyDocuments[], values: readonly Uint8Array[]): readonly ValuedDocuments[] {
  let used = 0;
  return ready.map((documents) => ({ ...documents, values: values.slice(used, (used += documents.signatures.prepared.length)) }));
}

/** Completes the signatures of one format and delivers them. */
async function completed({ opened, output, signatures, values }: ValuedDocuments, context: Context): Promise<readonly EvidenceDocument[]> {
  // Co-signed files are read in parts, so they must be unchanged since the bound digests were
  // compared.
  if (opened.areFiles) await opened.checkUnchanged();
  const byId = new Map(signatures.prepared.flatMap(({ id }, index) => (values[index] === undefined ? [] : [[id, values[index]]])));
  const evidence = completeAtOnce(signatures, byId) ?? (await completeSignatures(signatures, byId, context));
  context.notices.push(...evidenceNotices(evidence));
  const { documents } = opened;
  return evidenceAtHand(output, documents, evidence, context) ?? deliverEvidence(output, documents, evidence, context);
}

/** Returns the plan whose algorithm all formats use. @throws {Refusal} FIELDS_INCONSISTENT */
function planOfAll(plans: readonly SignerPlan[]): SignerPlan {
  const [first] = plans;
  if (first === undefined) throw new RangeError('a request has a document');
  const name = ({ algorithm }: SignerPlan): string => JSON.stringify(algorithm);
  if (plans.every((plan) => name(plan) === name(first))) return first;
  throw new Refusal('FIELDS_INCONSISTENT', { message: 'a request uses one algorithm for all signatures' });
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
