import { z } from 'zod';
import { having, where } from '../../fields/documented.ts';
import { Text } from '../../fields/values.ts';
import { Refusal } from '../../result-codes.ts';

const OutputMode = z
  .enum(['FILE_PATH', 'FTM', 'BASE_64', 'PLAIN'])
  .meta({ id: 'OutputMode', description: 'how the evidence is delivered' });

/** Interface, remoteSign: `optionalInputs`. */
export const OptionalInputs = z
  .strictObject({
    evidenceOutput: z
      .strictObject({
        outputMode: OutputMode.optional().describe(
          'how the signature is delivered: base64Data (default), plainData (only text), FTMData or filePathData',
        ),
        outputDirectory: Text.optional().describe('only with FILE_PATH: a directory on the server that its configuration allows'),
      })
      .meta({
        id: 'EvidenceOutput',
        description: 'where the evidence goes',
        ...where(having({ outputMode: { const: 'FILE_PATH' } }), having({ outputDirectory: {} }), { not: having({ outputDirectory: {} }) }),
      })
      .optional(),
  })
  .meta({ id: 'OptionalInputs', description: 'options of the answer' });
export type OptionalInputs = z.output<typeof OptionalInputs>;

/**
 * Checks the output options. `isText`: whether the evidence is text.
 * @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function checkOutput(inputs: OptionalInputs | undefined, { isText = false }: { readonly isText?: boolean } = {}): void {
  const { outputMode = 'BASE_64', outputDirectory } = inputs?.evidenceOutput ?? {};
  const at = '/optionalInputs/evidenceOutput';
  if (outputMode === 'FILE_PATH' && outputDirectory === undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/outputDirectory`, message: 'outputMode FILE_PATH needs a directory' });
  }
  if (outputMode !== 'FILE_PATH' && outputDirectory !== undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${at}/outputDirectory`,
      message: 'a directory is allowed only with outputMode FILE_PATH',
    });
  }
  if (outputMode === 'PLAIN' && !isText) {
    throw new Refusal('UNSUPPORTED', {
      at: `${at}/outputMode`,
      message: 'the evidence is not text; supported: BASE_64, FTM and FILE_PATH',
    });
  }
}
