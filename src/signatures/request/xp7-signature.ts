import { z } from 'zod';
import { having, where } from '../../fields/documented.ts';
import { PdfContent, PdfParameters, RevocationSources } from './pdf-fields.ts';
import { sharedMembers } from './shared-members.ts';
import { DetachedXadesParameters, EnvelopedProviderParameters, EnvelopingProviderParameters } from './xml-fields.ts';

const ValueChoice = z.enum(['OCSP', 'CRL', 'BOTH']).meta({ id: 'RevocationValueChoice', description: 'revocation data to include' });

/**
 * Checks whether an issue concerns the field or one that contains it: it is then invalid, not
 * missing.
 */
function isOfProviders(path: readonly PropertyKey[] = []): boolean {
  return path[0] === 'XP7Providers' && (path.length === 1 || path[1] === 'CXP7Parameters');
}

/** Interface, XP7Signature. */
export const XP7Signature = z
  .strictObject({
    XP7Format: z.enum(['CXP_7', 'DXXP_7', 'EXXP_7', 'PXP_7', 'EGXXP_7']).meta({
      id: 'SignatureFormat',
      description:
        'CXP_7: CAdES; EXXP_7: XAdES in the document (enveloped); EGXXP_7: XAdES that contains the document (enveloping); DXXP_7: one detached XAdES over all documents; PXP_7: PAdES',
    }),
    ...sharedMembers,
    contentPreparation: z
      .strictObject({ PDFContent: PdfContent.optional() })
      .meta({ id: 'ContentPreparation', description: 'for PXP_7: changes of the pages before the signature' })
      .optional(),
    validateSignatures: z
      .boolean()
      .optional()
      .describe(
        'CXP_7: if given, an attached signature of a CMS is added to its existing signatures; all formats with existing signatures: true verifies those first (2/235)',
      ),
    longTermValidation: z
      .strictObject({
        authoritiesRevocationDataSource: RevocationSources.optional().describe(
          'sources of revocation data for the authorities, including time-stamp authorities',
        ),
        signerRevocationDataSource: RevocationSources.optional().describe('sources of revocation data for the signer certificate'),
        signerRevocationValueChoice: ValueChoice.optional().describe(
          'revocation data to include for the signer; default: OCSP if the certificate names a responder, otherwise CRL',
        ),
        authoritiesRevocationValueChoice: ValueChoice.optional().describe('revocation data to include for the authorities; same default'),
        archiveTimeStamp: z
          .boolean()
          .optional()
          .describe('whether an archive time-stamp is added (level LTA); an extension of the interface'),
      })
      .meta({
        id: 'LongTermValidation',
        description: 'level LT: the signature includes certificates and revocation data; needs timeStamp',
      })
      .optional(),
    XP7Providers: z
      .strictObject({
        CXP7Parameters: z
          .strictObject({ detached: z.boolean().describe('whether the signature excludes the content') })
          .meta({ id: 'CAdESParameters', description: 'parameters of CAdES' })
          .optional()
          .describe('required with CXP_7'),
        DXXP7Parameters: DetachedXadesParameters.optional().describe('for DXXP_7'),
        EXXP7Parameters: EnvelopedProviderParameters.optional().describe('for EXXP_7'),
        PXP7Parameters: PdfParameters.optional().describe('for PXP_7'),
        EGXXP7Parameters: EnvelopingProviderParameters.optional().describe('for EGXXP_7'),
      })
      .meta({ id: 'SignatureFormatParameters', description: 'parameters of the formats; only those of XP7Format are used' })
      .optional(),
  })
  .refine(({ XP7Format, XP7Providers }) => XP7Format !== 'CXP_7' || XP7Providers?.CXP7Parameters !== undefined, {
    // There is no default: attached and detached signatures are delivered differently.
    path: ['XP7Providers', 'CXP7Parameters', 'detached'],
    message: 'required with XP7Format CXP_7',
    // Missing fields are reported before invalid ones, so this is checked even if there are issues.
    when: ({ value, issues }) => typeof value === 'object' && value !== null && !issues.some(({ path }) => isOfProviders(path)),
  })
  .meta({
    id: 'XP7SignatureOptions',
    description: 'a signature in the format that XP7Format names',
    ...where(having({ XP7Format: { const: 'CXP_7' } }), having({ XP7Providers: having({ CXP7Parameters: {} }) })),
    dependentRequired: { longTermValidation: ['timeStamp'], recovery: ['timeStamp'] },
  });
export type XP7Signature = z.output<typeof XP7Signature>;
