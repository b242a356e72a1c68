import type { Content, DocumentDigest, EvidencePiece } from './content.ts';
import type { LongAnswer } from './long-answer.ts';

/**
 * Place where the content of a document can be read again: a path, or a file of the transfer store.
 */
export type DocumentOrigin = { readonly filePath: string } | { readonly fileID: string };

/** A document of a request: its content or (rawSignature) its digest. */
export interface InputDocument {
  readonly id: string;
  readonly fileName: string | undefined;
  /** As the caller states it. */
  readonly mimeType?: string | undefined;
  /** Opens the document, if it is encrypted. */
  readonly password?: string | undefined;
  /** The content is text of the request, as UTF-8. */
  readonly isText?: boolean;
  /** Undefined for content that is part of the request. */
  readonly origin?: DocumentOrigin | undefined;
  readonly source: { readonly content: Content } | { readonly digest: DocumentDigest };
}

/** A document of an answer: the `document` of the evidence object (interface, Evidence object). */
export interface EvidenceDocument {
  readonly ID: string;
  readonly fileName?: string;
  readonly mimeType: string;
  readonly base64Data?: { readonly base64Value: string | LongAnswer };
  readonly plainData?: { readonly plainValue: string };
  readonly filePathData?: { readonly filePath: string };
  readonly FTMData?: { readonly fileSize: number; readonly fileID: string };
}

/** Content of evidence: exactly one member, selected by outputMode (contract §4). */
export type EvidenceContent = Pick<EvidenceDocument, 'base64Data' | 'plainData' | 'filePathData' | 'FTMData'>;

/** Result of a format for one signature. */
export interface Evidence {
  /**
   * Consecutive pieces of the evidence, so that large content within a signature need not be
   * copied.
   */
  readonly content: readonly EvidencePiece[];
  readonly mimeType: string;
  /**
   * File name extension of the format, such as `.p7s`, which is added to the name of the document.
   */
  readonly ending: string;
}

/** Maximum length of a file name in UTF-8, in requests and answers, as in file systems. */
export const maxFileNameBytes = 255;

/** Checks whether a text is a valid file name: no path, no control characters, not too long. */
export function isFileName(name: string): boolean {
  return name.length > 0 && name !== '.' && name !== '..' && !/[/\\\p{Cc}]/u.test(name) && Buffer.byteLength(name) <= maxFileNameBytes;
}

/**
 * Returns a document's name with the extension of the format, shortened if it would be too long.
 */
export function evidenceFileName(fileName: string, ending: string): string {
  const letters = Array.from(fileName);
  while (Buffer.byteLength(letters.join('')) + Buffer.byteLength(ending) > maxFileNameBytes) letters.pop();
  return `${letters.join('')}${ending}`;
}

/**
 * Returns a document's name without the extension of a signed PDF, which replaces the document and
 * its name.
 */
export function evidenceBaseName(fileName: string, ending: string): string {
  return ending === '.pdf' && /.\.pdf$/iu.test(fileName) ? fileName.slice(0, -ending.length) : fileName;
}

/** Returns evidence as a document of the answer. */
export function evidenceDocument(
  document: Pick<InputDocument, 'id' | 'fileName'>,
  evidence: Omit<Evidence, 'content'>,
  content: EvidenceContent,
): EvidenceDocument {
  return {
    ID: document.id,
    ...(document.fileName === undefined
      ? {}
      : { fileName: evidenceFileName(evidenceBaseName(document.fileName, evidence.ending), evidence.ending) }),
    mimeType: evidence.mimeType,
    ...content,
  };
}
