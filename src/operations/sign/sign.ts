import { z } from 'zod';
import { chainFor } from '../../certificates/chains.ts';
import { isFault, refusalOf } from '../../faults.ts';
import { requiredSecret } from '../../keys/credentials.ts';
import type { KeyRecord } from '../../keys/key-record.ts';
import { documentsAsPrepared } from '../../signatures/documents-as-prepared.ts';
import type { SignerChain } from '../../signatures/format.ts';
import { completeSignatures } from '../../signatures/prepared-signatures.ts';
import { deliverEvidence, openOutput } from '../fields/deliver-evidence.ts';
import { InputDocuments } from '../fields/input-documents.ts';
import { checkKeyReference, exampleReference, KeyReference } from '../fields/key-reference.ts';
import { OptionalInputs, checkOutput } from '../fields/evidence-output.ts';
import { openDocuments } from '../fields/open-documents.ts';
import { RequestId } from '../fields/values.ts';
import { operation, type Context } from '../operation.ts';
import { withTokensAbility } from './algorithm.ts';
import { askedSignature } from './asked-signature.ts';
import { evidenceAnswer, EvidenceAnswer } from './evidence-answer.ts';
import { SignatureParameters } from './parameters.ts';
import { signingPlan, trustedCaOf } from './prepare-signatures.ts';

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
    const asked = askedSignature({ parameters, inputDocuments }, context);
    checkOutput(optionalInputs);
    checkKeyReference(keyReference);

    const key = await context.keys.find(context.caller.tenant, keyReference.reference);
    context.keys.checkUsable(key, 'sign');
    const given = requiredSecret(key, 'SIGN', keyReference);
    const chain = signerOf(key, context, trustedCaOf(asked));
    const plan = signingPlan(asked, inputDocuments, { key, chain });
    const opened = await openDocuments(inputDocuments, context);
    try {
      const output = await openOutput(optionalInputs, context);
      const { documents } = opened;
      const { algorithm } = plan;
      const prepared = await plan.prepare(documents, context);
      await opened.checkUnchanged();
      if (asked.level !== undefined) context.levels.check(asked.level, chain, algorithm);
      // One message to the token: all documents of a call are signed with one algorithm.
      const toBeSigned = {
        algorithm,
        digests: prepared.prepared.map(({ digest }) => digest),
        documents: documentsAsPrepared(documents, prepared.prepared),
      };
      // What this answers is kept by the commit that uses the secret up, so it is the whole answer.
      const finish = async (values: readonly Uint8Array[]): Promise<EvidenceAnswer> => {
        // Co-signed files are read by their parts: what bound digests were compared with is what the file still has.
        await opened.checkUnchanged();
        const evidence = await completeSignatures(prepared, { values, signer: chain, documents }, context);
        return evidenceAnswer(await deliverEvidence(output, documents, evidence, context), algorithm);
      };
      return await withTokensAbility(algorithm, async () => unlessChanged(async () => context.keys.sign(key, given, toBeSigned, finish)));
    } finally {
      await opened.close();
    }
  },
});

/** A file that changes while it is signed is no longer the one that was asked for. */
async function unlessChanged<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isFault(error, 'CONTENT_CHANGED')) throw error;
    throw refusalOf(error, { at: '/inputDocuments', message: 'a file changed while it was being signed' });
  }
}

/** Who issued the certificate counts, whatever authority the tenant has by now. */
function signerOf(key: KeyRecord, { authorities }: Context, trustedCa: string | undefined): SignerChain {
  const issuers = chainFor(key.issuers, authorities.get(key.authority), trustedCa);
  if (issuers.length === 0) throw new Error(`the authority ${key.authority} that issued ${key.reference} is not configured any more`);
  return { certificate: key.certificate, publicKey: key.publicKey, issuers };
}
