import { z } from 'zod';
import type { EvidenceDocument } from '../../documents/document.ts';
import { signatureAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { ObjectIdentifier } from '../../fields/values.ts';
import { contentTexts } from './input-documents.ts';
import type { LongAnswer } from '../../documents/long-answer.ts';

/** Long evidence is sent as the bytes of its base64. */
const Base64Value: z.ZodType<string | LongAnswer> = z.base64();

/** Interface, Evidence object. */
const EvidenceDocument = z
  .strictObject({
    ID: z.string().describe('ID of the signed document'),
    fileName: z.string().optional().describe('name of the document with the extension of the format; only if the document has a name'),
    mimeType: z.string().describe('media type of the evidence'),
    base64Data: z
      .strictObject({ base64Value: Base64Value.describe(contentTexts.base64Value) })
      .meta({ id: 'Base64Data', description: contentTexts.base64Data })
      .optional()
      .describe('the evidence, with outputMode BASE_64'),
    plainData: z
      .strictObject({ plainValue: z.string().describe(contentTexts.plainValue) })
      .meta({ id: 'PlainData', description: contentTexts.plainData })
      .optional()
      .describe('the evidence, with outputMode PLAIN'),
    filePathData: z
      .strictObject({ filePath: z.string().describe(contentTexts.filePath) })
      .meta({ id: 'FilePathData', description: contentTexts.filePathData })
      .optional()
      .describe('with outputMode FILE_PATH: a file below outputDirectory; a number is added to its name if that is taken'),
    FTMData: z
      .strictObject({
        fileSize: z.int().nonnegative().describe(contentTexts.fileSize),
        fileID: z.string().describe(contentTexts.fileID),
      })
      .meta({ id: 'FTMFile', description: contentTexts.FTMData })
      .optional()
      .describe('with outputMode FTM: a new file of the transfer store'),
  })
  .meta({ id: 'EvidenceDocument', description: 'evidence, in the content variant of outputMode' });

const EvidenceObject = z
  .strictObject({ document: EvidenceDocument })
  .meta({ id: 'EvidenceObject', description: 'the evidence of a document' });

/** Answer of `sign` and `remoteSign`. */
export const EvidenceAnswer = z.strictObject({
  evidenceObject: EvidenceObject.describe('the evidence of the first document'),
  evidenceObjects: z.array(EvidenceObject).describe('the evidence of every document, in the order of the request'),
  optionalOutputs: z
    .strictObject({ signatureAlgorithm: ObjectIdentifier.describe('the algorithm of every signature') })
    .meta({ id: 'OptionalOutputs', description: 'further facts about the signatures' })
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
