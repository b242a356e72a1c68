import { z } from 'zod';
import { ObjectIdentifier } from '../../fields/values.ts';

const Mgf1Parameters = z.strictObject({
  digestAlgorithmOid: ObjectIdentifier.optional().describe('hash of MGF1; absent: that of the digest'),
});

const PssParameters = z.strictObject({
  saltLength: z.int().nonnegative().optional().describe('bytes of the salt; absent: as many as the hash has'),
  maskGenerationParameters: z
    .strictObject({
      maskGenerationFunctionOid: ObjectIdentifier.optional().describe('MGF1 (1.2.840.113549.1.1.8)'),
      maskGenerationFunction1Parameters: Mgf1Parameters.optional(),
    })
    .optional(),
  digestAlgorithmOid: ObjectIdentifier.optional().describe('hash of the document; absent: SHA-256'),
  trailerField: z.literal(1, 'RFC 4055 defines the value 1 alone').optional().describe('1'),
});

/** Interface, rawSignature. */
export const RawSignature = z.strictObject({
  rawSignatureParameters: z
    .strictObject({
      signatureAlgorithmOid: ObjectIdentifier.optional().describe("absent: the key's usual algorithm, or the one of the digest given"),
      signatureAlgorithmParameters: z
        .strictObject({ PSSParameters: PssParameters.optional(), PSSMGF1Parameters: Mgf1Parameters.optional() })
        .optional(),
    })
    .optional(),
});
export type RawSignature = z.output<typeof RawSignature>;
