import { z } from 'zod';
import { evidenceDocument, type Evidence, type InputDocument } from '../../documents/document.ts';
import { evidenceBase64 } from '../../documents/evidence-base64.ts';
import { signatureAlgorithmOid } from '../../signatures/algorithm-identifier.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { EvidenceObject } from '../fields/evidence-object.ts';
import { ObjectIdentifier } from '../fields/values.ts';
import type { Context } from '../operation.ts';

/** What `sign` and `remoteSign` answer. */
export const EvidenceAnswer = z.strictObject({
  evidenceObject: EvidenceObject.describe('the evidence of the first document'),
  evidenceObjects: z.array(EvidenceObject).describe('the evidence of every document, in the order of the request'),
  optionalOutputs: z
    .strictObject({ signatureAlgorithm: ObjectIdentifier.describe('the algorithm of every signature') })
    .optional()
    .describe('absent where nobody knows the algorithm: rawSignature in two steps, without certificate and signatureAlgorithmOid'),
});
export type EvidenceAnswer = z.output<typeof EvidenceAnswer>;

/** The evidence of all documents, or of none. */
export async function deliverEvidence(
  documents: readonly Pick<InputDocument, 'id' | 'fileName'>[],
  finished: readonly Evidence[],
  algorithm: SignatureAlgorithm | undefined,
  { threads }: Pick<Context, 'threads'>,
): Promise<EvidenceAnswer> {
  const texts = await Promise.all(finished.map(async ({ content }) => evidenceBase64(content, threads)));
  const evidence = documents.map((document, index) => ({ document: evidenceDocument(document, at(finished, index), at(texts, index)) }));
  return {
    evidenceObject: at(evidence, 0),
    evidenceObjects: evidence,
    ...(algorithm === undefined ? {} : { optionalOutputs: { signatureAlgorithm: signatureAlgorithmOid(algorithm) } }),
  };
}

function at<T>(list: readonly T[], index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} in a list of ${list.length}`);
  return value;
}
