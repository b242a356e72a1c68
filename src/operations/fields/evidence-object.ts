import { z } from 'zod';
import type { LongAnswer } from '../../documents/long-answer.ts';

/** Long evidence leaves as the bytes of its base64. */
const Base64Value: z.ZodType<string | LongAnswer> = z.base64();

/** Interface, Evidence object. */
export const EvidenceObject = z.strictObject({
  document: z.strictObject({
    ID: z.string().describe('the ID of the document that was signed'),
    fileName: z.string().optional().describe("the name of the document with the format's ending; only where the document had one"),
    mimeType: z.string(),
    base64Data: z.strictObject({ base64Value: Base64Value }).optional().describe('with outputMode BASE_64'),
    plainData: z.strictObject({ plainValue: z.string() }).optional().describe('with outputMode PLAIN'),
    filePathData: z
      .strictObject({ filePath: z.string().describe('below outputDirectory; a number was added to a name that was taken') })
      .optional()
      .describe('with outputMode FILE_PATH'),
    FTMData: z
      .strictObject({ fileSize: z.int().nonnegative(), fileID: z.string().describe('in the file transfer store') })
      .optional()
      .describe('with outputMode FTM'),
  }),
});
