import { z } from 'zod';
import { notOffered } from '../../fields/values.ts';
import { PdfContent, PdfParameters, RevocationSources } from './pdf-fields.ts';
import { sharedMembers } from './shared-members.ts';
import { DetachedXadesParameters, EnvelopedProviderParameters, EnvelopingProviderParameters } from './xml-fields.ts';

const ValueChoice = z.enum(['OCSP', 'CRL', 'BOTH']);

/** Whether a fault is of the field or of what holds it: then it is wrong, and not missing. */
function isOfProviders(path: readonly PropertyKey[] = []): boolean {
  return path[0] === 'XP7Providers' && (path.length === 1 || path[1] === 'CXP7Parameters');
}

/** Interface, XP7Signature. */
export const XP7Signature = z
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
    // Attached and detached are different deliveries: signetd does not guess.
    path: ['XP7Providers', 'CXP7Parameters', 'detached'],
    message: 'required with XP7Format CXP_7',
    // Missing fields are reported before wrong ones, so this is looked for beside those.
    when: ({ value, issues }) => typeof value === 'object' && value !== null && !issues.some(({ path }) => isOfProviders(path)),
  });
export type XP7Signature = z.output<typeof XP7Signature>;
