import { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import { Text } from '../../fields/values.ts';

/** Interface, remoteSign: `optionalInputs`. */
export const OptionalInputs = z.strictObject({
  evidenceOutput: z
    .strictObject({
      outputMode: z
        .enum(['FILE_PATH', 'FTM', 'BASE_64', 'PLAIN'])
        .optional()
        .describe('how the signature is delivered: base64Data (the default), plainData (text alone), FTMData, filePathData'),
      outputDirectory: Text.optional().describe('with FILE_PATH alone: a directory of the server that its configuration allows'),
    })
    .optional(),
});
export type OptionalInputs = z.output<typeof OptionalInputs>;

/** `isText`: whether the evidence of the format is text. @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED */
export function checkOutput(inputs: OptionalInputs | undefined, { isText = false }: { readonly isText?: boolean } = {}): void {
  const { outputMode = 'BASE_64', outputDirectory } = inputs?.evidenceOutput ?? {};
  const at = '/optionalInputs/evidenceOutput';
  if (outputMode === 'FILE_PATH' && outputDirectory === undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/outputDirectory`, message: 'outputMode FILE_PATH needs a directory' });
  }
  if (outputMode !== 'FILE_PATH' && outputDirectory !== undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/outputDirectory`, message: 'only outputMode FILE_PATH writes into a directory' });
  }
  if (outputMode === 'PLAIN' && !isText) {
    throw new Refusal('UNSUPPORTED', {
      at: `${at}/outputMode`,
      message: 'the evidence is not text; BASE_64, FTM and FILE_PATH are offered',
    });
  }
}
