import { z } from 'zod';
import type { EvidenceDocument } from '../../documents/document.ts';
import { signatureAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { ObjectIdentifier } from '../../fields/values.ts';
import type { LongAnswer } from '../../documents/long-answer.ts';

/** Long evidence is sent as the bytes of its base64. */
const Base64Value: z.ZodType<string | LongAnswer> = z.base64();

/** Interface, Evidence object. */
const EvidenceObject = z.strictObject({
  document: z.strictObject({
    ID: z.string().describe('ID of the signed document'),
    fileName: z.string().optional().describe('name of the document with the extension of the format; only if the document has a name'),
    mimeType: z.string().describe('media type of the evidence'),
    base64Data: z
      .strictObject({ base64Value: Base64Value.describe('the evidence, base64') })
      .optional()
      .describe('with outputMode BASE_64'),
    plainData: z
      .strictObject({ plainValue: z.string().describe('the evidence') })
      .optional()
      .describe('with outputMode PLAIN'),
    filePathData: z
      .strictObject({ filePath: z.string().describe('path below outputDirectory; a number is added if the name is taken') })
      .optional()
      .describe('with outputMode FILE_PATH'),
    FTMData: z
      .strictObject({
        fileSize: z.int().nonnegative().describe('size of the evidence in bytes'),
        fileID: z.string().describe('identifier in the file transfer store'),
      })
      .optional()
      .describe('with outputMode FTM'),
  }),
});

/** Answer of `sign` and `remoteSign`. */
export const EvidenceAnswer = z.strictObject({
  evidenceObject: EvidenceObject.describe('the evidence of the first document'),
  evidenceObjects: z.array(EvidenceObject).describe('the evidence of every document, in the order of the request'),
  optionalOutputs: z
    .strictObject({ signatureAlgorithm: ObjectIdentifier.describe('the algorithm of every signature') })
    .optional()
    .describe('absent if the algorithm is unknown: rawSignature in two steps without certificate and signatureAlgorithmOid'),
});
export type EvidenceAnswer = z.output<typeof EvidenceAnswer>;

/** Returns the answer for delivered evidence. `algorithm` is undefined if it is unknown. */
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
