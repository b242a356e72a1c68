import { z } from 'zod';
import { notSupported, Text } from '../../fields/values.ts';
import { RawSignature } from '../raw/raw-fields.ts';
import { sharedMembers } from './shared-members.ts';
import { EnvelopedXadesParameters } from './xml-fields.ts';
import { XP7Signature } from './xp7-signature.ts';

/**
 * All signature parameters of the interface; members that are not supported yet are checked too.
 */
export const SignatureParameters = z.strictObject({
  rawSignature: RawSignature.optional().describe('signs the bytes of each document, or its digest'),
  code2DDocSignature: z
    .strictObject({
      code2DDocParameters: z
        .strictObject({
          text: Text.optional().describe('text beside the code; default: 2D-Doc'),
          imageFormat: z.enum(['PNG', 'TIFF']).optional().describe('with outputMode IMAGE; default: PNG'),
          checkDigitalIdentity: z.boolean().optional().describe('whether the header of the zone must name the signing identity'),
          outputMode: z
            .enum(['SIGNED_CODE', 'XML', 'IMAGE'])
            .optional()
            .describe('SIGNED_CODE (default): the code; IMAGE: an image of it; XML: a document that describes it'),
          textPosition: z
            .enum(['TOP', 'RIGHT', 'BOTTOM', 'LEFT'])
            .optional()
            .describe('position of the text; with outputMode IMAGE; default: BOTTOM'),
        })
        .optional(),
    })
    .optional()
    .meta(notSupported),
  envelopedXAdESSignature: z
    .strictObject({ envelopedXAdESParameters: EnvelopedXadesParameters.optional(), ...sharedMembers })
    .optional()
    .describe('a XAdES signature in each document, which is XML'),
  XP7Signature: XP7Signature.optional().describe('a signature in the format that XP7Format names'),
});
export type SignatureParameters = z.output<typeof SignatureParameters>;

/**
 * Checks whether the signed data names the signer's certificate, so that the request must name it.
 */
export function bindsCertificate(parameters: unknown): boolean {
  if (typeof parameters !== 'object' || parameters === null) return false;
  return Object.keys(parameters).some((member) => member !== 'rawSignature' && member !== 'code2DDocSignature');
}
