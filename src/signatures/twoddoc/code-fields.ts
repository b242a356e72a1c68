import { z } from 'zod';
import { Text } from '../../fields/values.ts';

/** Interface, code2DDocSignature. */
export const Code2DDocSignature = z.strictObject({
  code2DDocParameters: z
    .strictObject({
      text: Text.optional().describe('text beside the code, with outputMode IMAGE; at most 64 characters; default: 2D-Doc'),
      imageFormat: z.enum(['PNG', 'TIFF']).optional().describe('with outputMode IMAGE; default: PNG'),
      checkDigitalIdentity: z
        .boolean()
        .optional()
        .describe(
          'whether the header of each zone must name the digital identity of keyReference, which must be allowed its type, with a certificate that is valid on the date of the signature; otherwise 2/261. remotePreSign compares it with signerCertificate, which it then needs (1/103). Default: false',
        ),
      outputMode: z
        .enum(['SIGNED_CODE', 'XML', 'IMAGE'])
        .optional()
        .describe('SIGNED_CODE (default): the code; IMAGE: a picture of it; XML: the document signed2DDoc, which says what is in it'),
      textPosition: z
        .enum(['TOP', 'RIGHT', 'BOTTOM', 'LEFT'])
        .optional()
        .describe('position of the text; with outputMode IMAGE; default: BOTTOM'),
    })
    .optional(),
});
export type Code2DDocSignature = z.output<typeof Code2DDocSignature>;
