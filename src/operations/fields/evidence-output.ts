import { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import { Text } from './values.ts';

/** Interface, remoteSign: `optionalInputs`. */
export const OptionalInputs = z.strictObject({
  evidenceOutput: z
    .strictObject({
      outputMode: z
        .enum(['FILE_PATH', 'FTM', 'BASE_64', 'PLAIN'])
        .optional()
        .describe('how the signature is delivered; BASE_64 is the default, and the one offered by this version'),
      outputDirectory: Text.optional().describe('with FILE_PATH alone'),
    })
    .optional(),
});
type OptionalInputs = z.output<typeof OptionalInputs>;

/** BASE_64 is the default. The evidence of the formats so far is never text. @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED */
export function checkOutput(inputs: OptionalInputs | undefined): void {
  const { outputMode = 'BASE_64', outputDirectory } = inputs?.evidenceOutput ?? {};
  const at = '/optionalInputs/evidenceOutput';
  if (outputMode === 'FILE_PATH' && outputDirectory === undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/outputDirectory`, message: 'outputMode FILE_PATH needs a directory' });
  }
  if (outputMode !== 'FILE_PATH' && outputDirectory !== undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/outputDirectory`, message: 'only outputMode FILE_PATH writes into a directory' });
  }
  if (outputMode === 'PLAIN')
    throw new Refusal('UNSUPPORTED', { at: `${at}/outputMode`, message: 'the evidence is not text; BASE_64 is offered' });
  if (outputMode !== 'BASE_64')
    throw new Refusal('UNSUPPORTED', { at: `${at}/outputMode`, message: 'not offered by this version; BASE_64 is' });
}
