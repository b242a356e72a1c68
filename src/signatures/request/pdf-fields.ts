import { z } from 'zod';
import { Base64, Text } from '../../fields/values.ts';
import { UrlSourceFields } from './shared-fields.ts';

/** Sources of CRLs and OCSP responses. */
export const RevocationSources = z
  .strictObject({
    CRL: UrlSourceFields.optional().describe('source of CRLs'),
    OCSP: UrlSourceFields.optional().describe('source of OCSP responses'),
  })
  .meta({ id: 'RevocationDataSources', description: 'sources of CRLs and OCSP responses' });

const HorizontalPosition = z.enum(['LEFT', 'MIDDLE', 'RIGHT']).meta({ id: 'HorizontalPosition', description: 'place on the page' });
const VerticalPosition = z.enum(['TOP', 'BOTTOM']).meta({ id: 'VerticalPosition', description: 'place on the page' });

const placement = {
  absolute: z.boolean().optional().describe('true: placed by x and y; false: by horizontalPosition, verticalPosition and margin'),
  x: z.int().optional().describe('pixels (1/72 inch); with absolute true'),
  y: z.int().optional().describe('pixels (1/72 inch); with absolute true'),
  horizontalPosition: HorizontalPosition.optional().describe('with absolute false'),
  verticalPosition: VerticalPosition.optional().describe('with absolute false'),
  margin: z.int().optional().describe('distance to the edge of the page in pixels (1/72 inch); with absolute false'),
  scaling: z.number().optional().describe('deprecated and ignored'),
};

export const PdfContent = z
  .strictObject({
    image: Base64.describe('JPEG, PNG or non-animated GIF, base64'),
    paging: z
      .enum(['ALL_PAGES', 'FIRST_PAGE', 'LAST_PAGE', 'SPECIFIED_PAGES', 'PERIOD_PAGES'])
      .meta({ id: 'ImagePaging', description: 'pages on which the image is placed' })
      .optional(),
    pageSelection: z
      .string()
      .regex(/^\s*\d+(?:\s*-\s*\d+)?(?:\s*;\s*\d+(?:\s*-\s*\d+)?)*\s*$/, 'not a list of pages such as 1;3-5')
      .optional()
      .describe('pages such as 1;3-5; with SPECIFIED_PAGES'),
    pageStart: z.int().optional().describe('first page of the sequence; with PERIOD_PAGES'),
    pagePeriod: z.int().positive().optional().describe('the image is placed on every n-th page; with PERIOD_PAGES'),
    formField: Text.optional().describe('name of the form field that receives the image'),
    ...placement,
  })
  .meta({ id: 'PDFImage', description: 'an image that is placed on pages before the signature' });

/** Interface, visibleSignature. */
export const VisibleSignatureFields = z
  .strictObject({
    signatureField: Text.optional().describe('name of an empty signature field of the document, which then determines the position'),
    paging: z
      .enum(['FIRST_PAGE', 'LAST_PAGE', 'SELECTED_PAGE'])
      .meta({ id: 'SignaturePaging', description: 'page of the signature' })
      .optional(),
    pageSelection: z.int().optional().describe('number of the page; with SELECTED_PAGE'),
    pageNumerotation: z
      .enum(['FROM_START_TO_END', 'FROM_END_TO_START'])
      .meta({ id: 'PageNumerotation', description: 'whether pages are counted from the first or from the last' })
      .optional(),
    ...placement,
    width: z.int().positive().optional().describe('width of the visible field in pixels (1/72 inch)'),
    height: z.int().positive().optional().describe('height of the visible field in pixels (1/72 inch)'),
    image: Base64.optional().describe('JPEG, PNG or non-animated GIF, base64; default: none'),
    fontName: z
      .enum(['COURIER', 'HELVETICA', 'TIMES_ROMAN', 'SYMBOL', 'ZAPFDINGBATS'])
      .meta({ id: 'FontName', description: 'font of the text' })
      .optional(),
    fontStyle: z
      .enum(['NORMAL', 'BOLD', 'ITALIC', 'BOLD_ITALIC', 'UNDERLINE', 'STRIKETHROUGH'])
      .meta({ id: 'FontStyle', description: 'style of the text' })
      .optional(),
    fontSize: z.int().positive().optional().describe('size of the text on the right'),
    fontColor: z
      .string()
      .regex(/^#?[0-9a-fA-F]{6}$/, 'not six hexadecimal digits')
      .optional()
      .describe('colour of the text: six hexadecimal digits, red, green and blue'),
    renderName: z.boolean().optional().describe('whether the name of the signer is on the left; default: false'),
    renderNameVisible: z.boolean().optional().describe('whether the name of the signer is on the right; default: true'),
    renderIdentifierVisible: z.boolean().optional().describe('whether the subject of the certificate is on the right; default: false'),
    renderLabelVisible: z.boolean().optional().describe('whether labels are on the right; default: false'),
    renderDateVisible: z.boolean().optional().describe('whether date and time are shown, if present; default: true'),
    renderLocationVisible: z.boolean().optional().describe('whether the place is shown, if present; default: true'),
    renderReasonVisible: z.boolean().optional().describe('whether the reason is shown'),
    freeText: Text.optional().describe('text on the right, below the other lines'),
  })
  .meta({ id: 'VisibleSignature', description: 'the appearance of the signature on a page; default: none' });

export const PdfParameters = z
  .strictObject({
    docMDPLevel: z
      .enum(['LEVEL_1', 'LEVEL_2', 'LEVEL_3'])
      .meta({ id: 'DocMDPLevel', description: 'level of permitted changes' })
      .optional()
      .describe('a certification signature with this level of permitted changes; default: an approval signature'),
    signatureFormat: z
      .enum(['BASIC', 'ENHANCED'])
      .meta({ id: 'PDFSignatureFormat', description: 'SubFilter of the signature' })
      .optional()
      .describe('BASIC: adbe.pkcs7.detached; ENHANCED (default): ETSI.CAdES.detached'),
    documentLock: z.boolean().optional().describe('whether the document is locked against changes after the signature'),
    fieldsLock: z.enum(['DEFAULT', 'ALL', 'NEITHER']).meta({ id: 'FieldsLock', description: 'which form fields are locked' }).optional(),
    revocationData: z
      .strictObject({
        authorizedRevocationLevel: z
          .enum(['VALID', 'UNDETERMINED', 'REVOKED'])
          .meta({ id: 'RevocationLevel', description: 'status of a certificate' })
          .optional()
          .describe('worst status of the signer certificate that is tolerated (2/234 beyond it); default: VALID'),
        cancelOnError: z
          .boolean()
          .optional()
          .describe(
            'whether the request fails if revocation data is unavailable (2/233); false: the data is left out, and resultMessage gives the level that was reached; default: true',
          ),
        signerCertificate: RevocationSources.optional().describe(
          'sources of revocation data for the signer certificate; replaces signerRevocationDataSource',
        ),
        authorityCertificates: RevocationSources.optional().describe(
          'sources of revocation data for the authorities, including time-stamp authorities; replaces authoritiesRevocationDataSource',
        ),
      })
      .meta({ id: 'PDFRevocationData', description: 'level LT, as with longTermValidation; needs timeStamp' })
      .optional(),
    visibleSignature: VisibleSignatureFields.optional(),
  })
  .meta({ id: 'PAdESParameters', description: 'parameters of PAdES' });
export type PdfParameters = z.output<typeof PdfParameters>;
