import { z } from 'zod';
import { chainFor } from '../../certificates/chains.ts';
import { requiredSecret, type GivenSecret } from '../../keys/credentials.ts';
import type { KeyRecord } from '../../keys/key-record.ts';
import { signatureAlgorithmOid } from '../../signatures/algorithm-identifier.ts';
import type { SignerChain } from '../../signatures/format.ts';
import type { ThreadedFormat } from '../../signatures/threaded-format.ts';
import { cms, raw } from '../../signatures/threaded-formats.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { checkDocumentCount, checkDocuments, InputDocuments } from '../fields/input-documents.ts';
import { checkKeyReference, exampleReference, KeyReference } from '../fields/key-reference.ts';
import { deliverEvidence, openOutput, type Output } from '../fields/deliver-evidence.ts';
import { OptionalInputs, checkOutput } from '../fields/evidence-output.ts';
import { EvidenceObject } from '../fields/evidence-object.ts';
import { openDocuments, type OpenedDocuments } from '../fields/open-documents.ts';
import { ObjectIdentifier, Text } from '../fields/values.ts';
import { operation, type Context } from '../operation.ts';
import {
  checkDigestFits,
  checkFitsKey,
  checkOneAlgorithm,
  checkTrustedAuthority,
  cmsAlgorithm,
  rawAlgorithmAsked,
  withTokensAbility,
} from './algorithm.ts';
import { cmsParameters } from './cms-parameters.ts';
import { requestedSignature } from './consistency.ts';
import { SignatureParameters } from './parameters.ts';

const SignRequest = z.strictObject({
  keyReference: KeyReference,
  parameters: SignatureParameters,
  inputDocuments: InputDocuments,
  optionalInputs: OptionalInputs.optional(),
  requestID: Text.optional(),
});

const SignAnswer = z.strictObject({
  evidenceObject: EvidenceObject.describe('the evidence of the first document'),
  evidenceObjects: z.array(EvidenceObject).describe('the evidence of every document, in the order of the request'),
  optionalOutputs: z.strictObject({ signatureAlgorithm: ObjectIdentifier.describe('the algorithm of every signature') }),
});
type SignAnswer = z.output<typeof SignAnswer>;

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
  answer: SignAnswer,
  async run({ keyReference, parameters, inputDocuments, optionalInputs }, context) {
    context.audit.key = keyReference.reference;
    checkDocumentCount(inputDocuments, context.config.limits);
    const requested = requestedSignature(parameters, { allowSha1: context.config.tenants[context.caller.tenant]?.allowSha1 ?? false });
    checkDocuments(inputDocuments, { digestAllowed: requested.kind === 'raw', passwordAllowed: false });
    checkOutput(optionalInputs);
    checkKeyReference(keyReference);
    const rawAlgorithm = requested.kind === 'raw' ? rawAlgorithmAsked(requested.raw) : undefined;

    const key = await context.keys.find(context.caller.tenant, keyReference.reference);
    context.keys.checkUsable(key, 'sign');
    const given = requiredSecret(key, 'SIGN', keyReference);
    const signer = signerOf(key, context, requested.kind === 'cms' ? requested.options.trustedCA : undefined);
    if (requested.kind === 'cms') checkTrustedAuthority(requested.options.trustedCA, signer.issuers);
    const asked = requested.kind === 'cms' ? cmsParameters(requested, cmsAlgorithm(requested.options, key), key.certificate) : undefined;
    const opened = await openDocuments(inputDocuments, context);
    try {
      const output = await openOutput(optionalInputs, context);
      const { documents } = opened;
      const signing = { opened, output, key, given, signer, context };
      if (asked !== undefined) {
        const all = documents.map(() => asked);
        return await signAll(cms, all, signing);
      }
      const algorithms = documents.map((document, index) => {
        const digest = 'digest' in document.source ? document.source.digest.hash : undefined;
        const algorithm = rawAlgorithm?.(digest, key);
        if (algorithm === undefined) throw new Error('a raw signature has an algorithm');
        checkFitsKey(algorithm, key);
        checkDigestFits(document, algorithm, index);
        return { algorithm };
      });
      checkOneAlgorithm(algorithms.map(({ algorithm }) => algorithm));
      return await signAll(raw, algorithms, signing);
    } finally {
      await opened.close();
    }
  },
});

interface Signing {
  readonly opened: OpenedDocuments;
  readonly output: Output;
  readonly key: KeyRecord;
  readonly given: GivenSecret;
  readonly signer: SignerChain;
  readonly context: Context;
}

/** prepare, let the token sign, complete: each document on its own, and all or none delivered. */
async function signAll<Parameters extends { readonly algorithm: SignatureAlgorithm }, State>(
  format: ThreadedFormat<Parameters, State>,
  parameters: readonly Parameters[],
  { opened, output, key, given, signer, context }: Signing,
): Promise<SignAnswer> {
  const { documents } = opened;
  const moment = { now: new Date() };
  const prepared = await format.prepare({ documents, parameters, signer, moment }, context.threads);
  await opened.checkUnchanged();
  context.audit.digests.push(...prepared.map(({ digest, algorithm }) => `${algorithm.hash}:${Buffer.from(digest).toString('hex')}`));
  // One message to the token: all documents of a call are signed with one algorithm.
  const { algorithm } = at(prepared, 0);
  const toBeSigned = { algorithm, digests: prepared.map(({ digest }) => digest), documents };
  // What this answers is kept by the commit that uses the secret up, so it is the whole answer.
  const finish = async (values: readonly Uint8Array[]): Promise<SignAnswer> => {
    const finished = await format.complete({ prepared, values, signer, documents }, context.threads);
    const delivered = await deliverEvidence(output, documents, finished, context);
    const evidence = delivered.map((document) => ({ document }));
    return {
      evidenceObject: at(evidence, 0),
      evidenceObjects: evidence,
      optionalOutputs: { signatureAlgorithm: signatureAlgorithmOid(algorithm) },
    };
  };
  return withTokensAbility(algorithm, async () => context.keys.sign<SignAnswer>(key, given, toBeSigned, finish));
}

/** Who issued the certificate counts, whatever authority the tenant has by now. */
function signerOf(key: KeyRecord, { authorities }: Context, trustedCa: string | undefined): SignerChain {
  const issuers = chainFor(key.issuers, authorities.get(key.authority), trustedCa);
  if (issuers.length === 0) throw new Error(`the authority ${key.authority} that issued ${key.reference} is not configured any more`);
  return { certificate: key.certificate, publicKey: key.publicKey, issuers };
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} in a list of ${list.length}`);
  return value;
}
