import { z } from 'zod';
import { exactlyOneOf } from '../../fields/documented.ts';
import { RawSignature } from '../raw/raw-fields.ts';
import { Code2DDocSignature } from '../twoddoc/code-fields.ts';
import { sharedMembers } from './shared-members.ts';
import { EnvelopedXadesParameters } from './xml-fields.ts';
import { XP7Signature } from './xp7-signature.ts';

/**
 * All signature parameters of the interface; members that are not supported yet are checked too.
 */
export const SignatureParameters = z
  .strictObject({
    rawSignature: RawSignature.optional(),
    code2DDocSignature: Code2DDocSignature.optional(),
    envelopedXAdESSignature: z
      .strictObject({ envelopedXAdESParameters: EnvelopedXadesParameters.optional(), ...sharedMembers })
      .meta({ id: 'EnvelopedXAdESSignature', description: 'a XAdES signature in each document, which is XML' })
      .optional(),
    XP7Signature: XP7Signature.optional(),
  })
  .meta({
    id: 'SignatureParameters',
    description: 'the kind of signature: exactly one member',
    ...exactlyOneOf({
      XP7Signature: 'XP7SignatureParameters',
      envelopedXAdESSignature: 'EnvelopedXAdESSignatureParameters',
      rawSignature: 'RawSignatureParameters',
      code2DDocSignature: 'Code2DDocSignatureParameters',
    }),
  });
export type SignatureParameters = z.output<typeof SignatureParameters>;

/**
 * Checks whether the signed data names the signer's certificate, so that the request must name it.
 */
export function bindsCertificate(parameters: unknown): boolean {
  if (typeof parameters !== 'object' || parameters === null) return false;
  return Object.keys(parameters).some((member) => member !== 'rawSignature' && member !== 'code2DDocSignature');
}
