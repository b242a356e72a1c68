import { z } from 'zod';
import type { EvidenceDocument } from '../../documents/document.ts';
import { signatureAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { EvidenceObject } from '../fields/evidence-object.ts';
import { ObjectIdentifier } from '../../fields/values.ts';

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

/** The answer of evidence that was delivered. `algorithm` is undefined where nobody knows it. */
export function evidenceAnswer(delivered: readonly EvidenceDocument[], algorithm: SignatureAlgorithm | undefined): EvidenceAnswer {
  const evidence = delivered.map((document) => ({ document }));
  const [first] = evidence;
  if (first === undefined) throw new RangeError('a request has a document');
  return {
    evidenceObject: first,
    evidenceObjects: evidence,
    ...(algorithm === undefined ? {} : { optionalOutputs: { signatureAlgorithm: signatureAlgorithmOid(algorithm) } }),
  };
}
