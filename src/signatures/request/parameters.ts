import { z } from 'zod';
import { notOffered } from '../../fields/not-offered.ts';
import { Text } from '../../fields/values.ts';
import { PdfContent, PdfParameters, RevocationSources } from './pdf-fields.ts';
import { RawSignature } from '../raw/raw-fields.ts';
import { sharedMembers } from './shared-members.ts';
import {
  DetachedXadesParameters,
  EnvelopedProviderParameters,
  EnvelopedXadesParameters,
  EnvelopingProviderParameters,
} from './xml-fields.ts';

const ValueChoice = z.enum(['OCSP', 'CRL', 'BOTH']);

/** What holds the field, or the field itself, is wrong and not missing. */
function isOfProviders(path: readonly PropertyKey[] = []): boolean {
  return path[0] === 'XP7Providers' && (path.length === 1 || path[1] === 'CXP7Parameters');
}

const XP7Signature = z
  .strictObject({
    XP7Format: z.enum(['CXP_7', 'DXXP_7', 'EXXP_7', 'PXP_7', 'EGXXP_7']).describe('CXP_7 is CAdES, the one offered by this version'),
    ...sharedMembers,
    contentPreparation: z.strictObject({ PDFContent: PdfContent.optional() }).optional().meta(notOffered),
    validateSignatures: z
      .boolean()
      .optional()
      .describe('given: an attached signature of a CMS is one more beside those that it has; true: those are verified first (2/235)'),
    longTermValidation: z
      .strictObject({
        authoritiesRevocationDataSource: RevocationSources.optional().describe(
          'where revocation data of the authorities, those of the time-stamps included, comes from',
        ),
        signerRevocationDataSource: RevocationSources.optional().describe('where revocation data of the signer certificate comes from'),
        signerRevocationValueChoice: ValueChoice.optional().describe(
          'what revocation data of the signer is taken in; absent: OCSP where the certificate names a responder, else CRL',
        ),
        authoritiesRevocationValueChoice: ValueChoice.optional().describe(
          'what revocation data of the authorities is taken in; absent: the same',
        ),
        archiveTimeStamp: z
          .boolean()
          .optional()
          .describe('whether an archive time-stamp is added (level LTA); an addition to the interface'),
      })
      .optional()
      .describe('level LT: certificates and revocation data go into the signature; needs timeStamp'),
    XP7Providers: z
      .strictObject({
        CXP7Parameters: z
          .strictObject({ detached: z.boolean().describe('whether the signature goes without the content') })
          .optional()
          .describe('required with CXP_7'),
        DXXP7Parameters: DetachedXadesParameters.optional().meta(notOffered),
        EXXP7Parameters: EnvelopedProviderParameters.optional().meta(notOffered),
        PXP7Parameters: PdfParameters.optional().meta(notOffered),
        EGXXP7Parameters: EnvelopingProviderParameters.optional().meta(notOffered),
      })
      .optional()
      .describe('parameters of the formats; only those of XP7Format count'),
  })
  .refine(({ XP7Format, XP7Providers }) => XP7Format !== 'CXP_7' || XP7Providers?.CXP7Parameters !== undefined, {
    // Attached and detached are different deliveries: signetd does not guess which one was meant.
    path: ['XP7Providers', 'CXP7Parameters', 'detached'],
    message: 'required with XP7Format CXP_7',
    // A missing field is told before wrong ones, so it is looked for beside those.
    when: ({ value, issues }) => typeof value === 'object' && value !== null && !issues.some(({ path }) => isOfProviders(path)),
  });
export type XP7Signature = z.output<typeof XP7Signature>;

/** Interface, Signature parameters, as a whole: what is not offered yet is still checked. */
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
