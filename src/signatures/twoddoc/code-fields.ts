import { z } from 'zod';
import { Text } from '../../fields/values.ts';
import { textMaxCharacters } from '../../twoddoc/picture/text-bitmap.ts';

/** Interface, code2DDocSignature. */
export const Code2DDocSignature = z
  .strictObject({
    code2DDocParameters: z
      .strictObject({
        text: Text.optional().meta({
          description: 'text beside the code, with outputMode IMAGE; default: 2D-Doc',
          maxLength: textMaxCharacters,
        }),
        imageFormat: z
          .enum(['PNG', 'TIFF'])
          .meta({ id: 'ImageFormat', description: 'format of the picture' })
          .optional()
          .describe('with outputMode IMAGE; default: PNG'),
        checkDigitalIdentity: z
          .boolean()
          .optional()
          .describe(
            'whether the header of each zone must name the digital identity of keyReference, which must be allowed its type, with a certificate that is valid on the date of the signature; otherwise 2/261. remotePreSign compares it with signerCertificate, which it then needs (1/103). Default: false',
          ),
        outputMode: z
          .enum(['SIGNED_CODE', 'XML', 'IMAGE'])
          .meta({ id: 'CodeOutputMode', description: 'form of a signed code' })
          .optional()
          .describe('SIGNED_CODE (default): the code; IMAGE: a picture of it; XML: the document signed2DDoc, which says what is in it'),
        textPosition: z
          .enum(['TOP', 'RIGHT', 'BOTTOM', 'LEFT'])
          .meta({ id: 'TextPosition', description: 'side of the symbol' })
          .optional()
          .describe('position of the text; with outputMode IMAGE; default: BOTTOM'),
      })
      .meta({
        id: 'Code2DDocParameters',
        description: 'how the code is returned',
        examples: [{ outputMode: 'IMAGE', checkDigitalIdentity: true }],
      })
      .optional(),
  })
  .meta({ id: 'Code2DDocSignature', description: 'signs each document, a 2D-Doc data zone, and returns its code' });
export type Code2DDocSignature = z.output<typeof Code2DDocSignature>;
