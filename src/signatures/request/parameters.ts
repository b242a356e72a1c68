import { z } from 'zod';
import { RawSignature } from '../raw/raw-fields.ts';
import { Code2DDocSignature } from '../twoddoc/code-fields.ts';
import { sharedMembers } from './shared-members.ts';
import { EnvelopedXadesParameters } from './xml-fields.ts';
import { XP7Signature } from './xp7-signature.ts';

/**
 * All signature parameters of the interface; members that are not supported yet are checked too.
 */
export const SignatureParameters = z.strictObject({
  rawSignature: RawSignature.optional().describe('signs the bytes of each document, or its digest'),
  code2DDocSignature: Code2DDocSignature.optional()
    .describe('signs each document, a 2D-Doc data zone, and returns its code')
    .meta({ examples: [{ code2DDocParameters: { outputMode: 'IMAGE', checkDigitalIdentity: true } }] }),
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
