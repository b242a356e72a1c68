import { z } from 'zod';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import { isFileName, maxFileNameBytes } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import type { AskedDocument } from '../../signatures/format-entry.ts';
import { askedFormat, type AskedFormat } from '../../signatures/formats.ts';
import type { SignatureParameters } from '../../signatures/request/parameters.ts';
import { pictureSettings } from '../../twoddoc/code-picture.ts';
import { digestLengthFault } from './digest-length.ts';
import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import { exactlyOneOf, limitedBy } from '../../fields/documented.ts';
import { Base64, digestFields, MediaType, PlainContent, Secret, Text } from '../../fields/values.ts';
import type { Context } from '../operation.ts';

const FileName = Text.refine(
  isFileName,
  'a file name has no path separators and no control characters, at most 255 bytes, and is not . or ..',
).meta({ minLength: 1, maxLength: maxFileNameBytes });

/** Descriptions of the content variants, which documents and evidence have in common. */
export const contentTexts = {
  base64Data: 'bytes',
  base64Value: 'the bytes, base64 (RFC 4648, padded, no line breaks)',
  plainData: 'text, as UTF-8',
  plainValue: 'the text',
  filePathData: 'a file where the service runs',
  filePath: 'absolute path of the file',
  FTMData: 'a file of the file transfer store',
  fileSize: 'size of the file in bytes',
  fileID: 'identifier of the file, as the upload returned it',
} as const;

/**
 * A document of a request (contract §4): as in the evidence object; for rawSignature it may be a
 * digest.
 */
export const InputDocumentField = z
  .strictObject({
    ID: Text.min(1).describe('identifies the document in the answer; unique in the request'),
    fileName: FileName.optional().describe('the answer contains it with the extension of the format'),
    mimeType: MediaType.optional().describe('media type of the document'),
    plainData: z
      .strictObject({ plainValue: PlainContent.describe(contentTexts.plainValue) })
      .meta({ id: 'PlainData', description: contentTexts.plainData })
      .optional()
      .describe('text, signed as UTF-8'),
    filePathData: z
      .strictObject({ filePath: Text.describe(contentTexts.filePath) })
      .meta({ id: 'FilePathData', description: contentTexts.filePathData })
      .optional()
      .describe('a file on the server, in a directory that its configuration allows'),
    base64Data: z
      .strictObject({ base64Value: Base64.describe(contentTexts.base64Value) })
      .meta({ id: 'Base64Data', description: contentTexts.base64Data })
      .optional(),
    FTMData: z
      .strictObject({
        fileSize: z.int().nonnegative().describe(contentTexts.fileSize),
        fileID: Text.describe(contentTexts.fileID),
      })
      .meta({ id: 'FTMFile', description: contentTexts.FTMData })
      .optional(),
    digest: z
      .strictObject(digestFields)
      .meta({ id: 'DocumentDigest', description: 'the digest of a document' })
      .optional()
      .describe('instead of content; only with rawSignature'),
    password: Secret.optional().describe('opens an encrypted PDF'),
  })
  .meta({
    id: 'InputDocument',
    description: 'a document: its content in one of four variants, or for rawSignature its digest',
    ...exactlyOneOf({
      base64Data: 'Base64Document',
      plainData: 'PlainDocument',
      filePathData: 'FilePathDocument',
      FTMData: 'FTMDocument',
      digest: 'DigestDocument',
    }),
  });
export type InputDocumentField = z.output<typeof InputDocumentField>;

/**
 * The documents of a request. The limit here is the highest that `limits.documentsMax` can be set
 * to.
 */
export const InputDocuments = z
  .array(InputDocumentField)
  .min(1, 'at least one document')
  .max(documentsAbsoluteMax)
  .meta({ description: 'the documents', ...limitedBy('documentsMax') });

/**
 * Removes documents far beyond the limit before validation; one too many is enough for the refusal.
 */
export function withFewDocuments(body: Readonly<Record<string, unknown>>, documentsMax: number): Readonly<Record<string, unknown>> {
  const { inputDocuments } = body;
  if (!Array.isArray(inputDocuments) || inputDocuments.length <= documentsMax) return body;
  return { ...body, inputDocuments: inputDocuments.slice(0, documentsMax + 1) };
}

/**
 * The requested signatures of `sign` and `remotePreSign`, as far as the request alone describes
 * them.
 */
export interface AskedSigning {
  readonly asked: AskedFormat;
  readonly documents: readonly AskedDocument[];
}

/**
 * Checks documents and signature parameters against each other, before any key is looked up.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function askedSigning(
  { parameters, inputDocuments }: { readonly parameters: SignatureParameters; readonly inputDocuments: readonly InputDocumentField[] },
  { caller, config, levels }: Pick<Context, 'caller' | 'config' | 'levels'>,
): AskedSigning {
  checkDocumentCount(inputDocuments, config.limits);
  const asked = askedFormat(parameters, {
    allowSha1: config.tenants[caller.tenant]?.allowSha1 ?? false,
    locale: config.visibleSignatures,
    picture: pictureSettings(config, caller.tenant),
    checkUrl: (text, at) => {
      levels.checkUrl(text, at);
    },
  });
  checkDocuments(inputDocuments, { digestAllowed: asked.takesDigests, passwordAllowed: asked.takesPasswords });
  const documents = inputDocuments.map(({ digest }) => ({ digestHash: digest === undefined ? undefined : hashOfOid(digest.digestAlgOID) }));
  return { asked, documents };
}

/** Options of documents that the requested format supports. */
interface Allowed {
  readonly digestAllowed: boolean;
  readonly passwordAllowed: boolean;
}

/**
 * Checks the number of documents, before they are compared with each other.
 * @throws {Refusal} FIELD_INVALID
 */
function checkDocumentCount(documents: readonly InputDocumentField[], { documentsMax }: { readonly documentsMax: number }): void {
  if (documents.length <= documentsMax) return;
  throw new Refusal('FIELD_INVALID', { at: '/inputDocuments', message: `at most ${documentsMax} documents per request` });
}

/**
 * Checks the documents of a request (contract §4 and §5).
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
 */
function checkDocuments(documents: readonly InputDocumentField[], { digestAllowed, passwordAllowed }: Allowed): void {
  const ids = new Set<string>();
  for (const [index, document] of documents.entries()) {
    const at = `/inputDocuments/${index}`;
    checkSource(document, at, digestAllowed);
    if (document.password !== undefined && !passwordAllowed) {
      throw new Refusal('FIELDS_INCONSISTENT', {
        at: `${at}/password`,
        message: 'a password is allowed only for PDF documents, with XP7Format PXP_7',
      });
    }
    if (ids.has(document.ID)) throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/ID`, message: 'duplicate document ID' });
    ids.add(document.ID);
  }
}

function checkSource(document: InputDocumentField, at: string, digestAllowed: boolean): void {
  const { plainData, filePathData, base64Data, FTMData, digest } = document;
  const given = [plainData, filePathData, base64Data, FTMData, digest].filter((variant) => variant !== undefined).length;
  if (given !== 1) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at,
      message: `exactly one of plainData, filePathData, base64Data, FTMData${digestAllowed ? ', digest' : ''} is required; the document has ${given}`,
    });
  }
  if (digest !== undefined && !digestAllowed) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${at}/digest`,
      message: 'only rawSignature signs a digest; this format needs the content',
    });
  }
  if (digest === undefined) return;
  const hash = hashOfOid(digest.digestAlgOID);
  if (hash === undefined || hash === 'sha1') {
    throw new Refusal('UNSUPPORTED', { at: `${at}/digest/digestAlgOID`, message: 'supported: SHA-256, SHA-384 and SHA-512' });
  }
  const fault = digestLengthFault(hash, digest.digestValue);
  if (fault !== undefined) throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/digest/digestValue`, message: fault });
}
