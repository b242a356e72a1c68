import { z } from 'zod';
import { ObjectIdentifier } from '../fields/values.ts';

const Mgf1Parameters = z.strictObject({ digestAlgorithmOid: ObjectIdentifier.optional() });

const PssParameters = z.strictObject({
  saltLength: z.int().nonnegative().optional(),
  maskGenerationParameters: z
    .strictObject({
      maskGenerationFunctionOid: ObjectIdentifier.optional(),
      maskGenerationFunction1Parameters: Mgf1Parameters.optional(),
    })
    .optional(),
  digestAlgorithmOid: ObjectIdentifier.optional(),
  trailerField: z.literal(1, 'RFC 4055 defines the value 1 alone').optional(),
});

/** Interface, rawSignature. */
export const RawSignature = z.strictObject({
  rawSignatureParameters: z
    .strictObject({
      signatureAlgorithmOid: ObjectIdentifier.optional(),
      signatureAlgorithmParameters: z
        .strictObject({ PSSParameters: PssParameters.optional(), PSSMGF1Parameters: Mgf1Parameters.optional() })
        .optional(),
    })
    .optional(),
});
export type RawSignature = z.output<typeof RawSignature>;
