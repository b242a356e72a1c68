import { z } from 'zod';
import { notOffered, Text } from '../../fields/values.ts';
import { RawSignature } from '../raw/raw-fields.ts';
import { sharedMembers } from './shared-members.ts';
import { EnvelopedXadesParameters } from './xml-fields.ts';
import { XP7Signature } from './xp7-signature.ts';

/** Interface, Signature parameters, as a whole; a member that is not supported yet is checked too. */
export const SignatureParameters = z.strictObject({
  rawSignature: RawSignature.optional().describe('signs the bytes of each document, or a digest of it'),
  code2DDocSignature: z
    .strictObject({
      code2DDocParameters: z
        .strictObject({
          text: Text.optional().describe('text beside the code; absent: 2D-Doc'),
          imageFormat: z.enum(['PNG', 'TIFF']).optional().describe('with outputMode IMAGE; absent: PNG'),
          checkDigitalIdentity: z
            .boolean()
            .optional()
            .describe('whether the header of the zone has to name the digital identity that signs'),
          outputMode: z
            .enum(['SIGNED_CODE', 'XML', 'IMAGE'])
            .optional()
            .describe('SIGNED_CODE (the default): the code; IMAGE: its picture; XML: a document about it'),
          textPosition: z
            .enum(['TOP', 'RIGHT', 'BOTTOM', 'LEFT'])
            .optional()
            .describe('where the text stands; with outputMode IMAGE; absent: BOTTOM'),
        })
        .optional(),
    })
    .optional()
    .meta(notOffered),
  envelopedXAdESSignature: z
    .strictObject({ envelopedXAdESParameters: EnvelopedXadesParameters.optional(), ...sharedMembers })
    .optional()
    .meta(notOffered),
  XP7Signature: XP7Signature.optional().describe('a signature in a format of its own, as XP7Format says'),
});
export type SignatureParameters = z.output<typeof SignatureParameters>;

/** Whether what is signed names the certificate of the signer, so that the request must name it too. */
export function bindsCertificate(parameters: unknown): boolean {
  if (typeof parameters !== 'object' || parameters === null) return false;
  return Object.keys(parameters).some((member) => member !== 'rawSignature' && member !== 'code2DDocSignature');
}
