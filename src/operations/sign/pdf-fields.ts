import { z } from 'zod';
import { Base64, maxListEntries, Text } from '../fields/values.ts';
import { UrlSource } from './enumerations.ts';

const Source = z.strictObject({ URLSource: UrlSource.optional(), clientURL: z.array(Text).max(maxListEntries).optional() });
/** Where CRLs and OCSP answers come from. */
export const RevocationSources = z.strictObject({ CRL: Source.optional(), OCSP: Source.optional() });

const placement = {
  absolute: z.boolean().optional(),
  x: z.int().optional(),
  y: z.int().optional(),
  horizontalPosition: z.enum(['LEFT', 'MIDDLE', 'RIGHT']).optional(),
  verticalPosition: z.enum(['TOP', 'BOTTOM']).optional(),
  margin: z.int().optional(),
  scaling: z.number().optional(),
};

export const PdfContent = z.strictObject({
  image: Base64,
  paging: z.enum(['ALL_PAGES', 'FIRST_PAGE', 'LAST_PAGE', 'SPECIFIED_PAGES', 'PERIOD_PAGES']).optional(),
  pageSelection: z
    .string()
    .regex(/^\s*\d+(?:\s*-\s*\d+)?(?:\s*;\s*\d+(?:\s*-\s*\d+)?)*\s*$/, 'not a list of pages such as 1;3-5')
    .optional(),
  pageStart: z.int().optional(),
  pagePeriod: z.int().optional(),
  formField: Text.optional(),
  ...placement,
});

const VisibleSignature = z.strictObject({
  signatureField: Text.optional(),
  paging: z.enum(['FIRST_PAGE', 'LAST_PAGE', 'SELECTED_PAGE']).optional(),
  pageSelection: z.int().optional(),
  pageNumerotation: z.enum(['FROM_START_TO_END', 'FROM_END_TO_START']).optional(),
  ...placement,
  width: z.int().positive().optional(),
  height: z.int().positive().optional(),
  image: Base64.optional(),
  fontName: z.enum(['COURIER', 'HELVETICA', 'TIMES_ROMAN', 'SYMBOL', 'ZAPFDINGBATS']).optional(),
  fontStyle: z.enum(['NORMAL', 'BOLD', 'ITALIC', 'BOLD_ITALIC', 'UNDERLINE', 'STRIKETHROUGH']).optional(),
  fontSize: z.int().positive().optional(),
  fontColor: z
    .string()
    .regex(/^#?[0-9a-fA-F]{6}$/, 'not six hexadecimal digits')
    .optional(),
  renderName: z.boolean().optional(),
  renderNameVisible: z.boolean().optional(),
  renderIdentifierVisible: z.boolean().optional(),
  renderLabelVisible: z.boolean().optional(),
  renderDateVisible: z.boolean().optional(),
  renderLocationVisible: z.boolean().optional(),
  renderReasonVisible: z.boolean().optional(),
  freeText: Text.optional(),
});

export const PdfParameters = z.strictObject({
  docMDPLevel: z.enum(['LEVEL_1', 'LEVEL_2', 'LEVEL_3']).optional(),
  signatureFormat: z.enum(['BASIC', 'ENHANCED']).optional(),
  documentLock: z.boolean().optional(),
  fieldsLock: z.enum(['DEFAULT', 'ALL', 'NEITHER']).optional(),
  revocationData: z
    .strictObject({
      authorizedRevocationLevel: z.enum(['VALID', 'UNDETERMINED', 'REVOKED']).optional(),
      cancelOnError: z.boolean().optional(),
      signerCertificate: RevocationSources.optional(),
      authorityCertificates: RevocationSources.optional(),
    })
    .optional(),
  visibleSignature: VisibleSignature.optional(),
});
