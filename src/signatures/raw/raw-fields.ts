import { z } from 'zod';
import { ObjectIdentifier } from '../../fields/values.ts';

const Mgf1Parameters = z
  .strictObject({
    digestAlgorithmOid: ObjectIdentifier.optional().describe('hash of MGF1; default: that of the digest'),
  })
  .meta({ id: 'MGF1Parameters', description: 'parameters of MGF1' });

const PssParameters = z
  .strictObject({
    saltLength: z.int().nonnegative().optional().describe('length of the salt in bytes; default: the length of the hash'),
    maskGenerationParameters: z
      .strictObject({
        maskGenerationFunctionOid: ObjectIdentifier.optional().describe('MGF1 (1.2.840.113549.1.1.8)'),
        maskGenerationFunction1Parameters: Mgf1Parameters.optional(),
      })
      .meta({ id: 'MaskGenerationParameters', description: 'the mask generation function' })
      .optional(),
    digestAlgorithmOid: ObjectIdentifier.optional().describe('hash of the document; default: SHA-256'),
    trailerField: z.literal(1, 'RFC 4055 defines only the value 1').optional().describe('1'),
  })
  .meta({ id: 'RSASSAPSSParameters', description: 'parameters of RSASSA-PSS' });

/** Interface, rawSignature. */
export const RawSignature = z
  .strictObject({
    rawSignatureParameters: z
      .strictObject({
        signatureAlgorithmOid: ObjectIdentifier.optional().describe(
          'default: the usual algorithm of the key, with the hash of the given digest',
        ),
        signatureAlgorithmParameters: z
          .strictObject({ PSSParameters: PssParameters.optional(), PSSMGF1Parameters: Mgf1Parameters.optional() })
          .meta({ id: 'SignatureAlgorithmParameters', description: 'parameters of the algorithm; only for RSASSA-PSS' })
          .optional(),
      })
      .meta({ id: 'RawSignatureAlgorithm', description: 'the algorithm of a raw signature' })
      .optional(),
  })
  .meta({ id: 'RawSignature', description: 'signs the bytes of each document, or its digest' });
export type RawSignature = z.output<typeof RawSignature>;
