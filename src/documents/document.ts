import type { Content, DocumentDigest } from './content.ts';
import type { LongAnswer } from './long-answer.ts';

/** A document of a request, read: its content, or (rawSignature) its digest. */
export interface InputDocument {
  readonly id: string;
  readonly fileName: string | undefined;
  readonly source: { readonly content: Content } | { readonly digest: DocumentDigest };
}

/** A document that leaves: the evidence object's `document` (interface, Evidence object). */
export interface EvidenceDocument {
  readonly ID: string;
  readonly fileName?: string;
  readonly mimeType: string;
  readonly base64Data?: { readonly base64Value: string | LongAnswer };
  readonly plainData?: { readonly plainValue: string };
  readonly filePathData?: { readonly filePath: string };
  readonly FTMData?: { readonly fileSize: number; readonly fileID: string };
}

/** One of them, as outputMode says (contract §4). */
export type EvidenceContent = Pick<EvidenceDocument, 'base64Data' | 'plainData' | 'filePathData' | 'FTMData'>;

/** What a format made of one document. */
export interface Evidence {
  /** The bytes in pieces, one after the other: big content that goes into a signature stays where it is. */
  readonly content: readonly Content[];
  readonly mimeType: string;
  /** The format's usual ending, such as `.p7s`; it is added to the name of the document. */
  readonly ending: string;
}

/** Bytes of UTF-8 in a file name, in requests and answers: what file systems take. */
export const maxFileNameBytes = 255;

/** Whether a text can name a file in a directory: no path, no control characters, not too long. */
export function isFileName(name: string): boolean {
  return name.length > 0 && name !== '.' && name !== '..' && !/[/\\\p{Cc}]/u.test(name) && Buffer.byteLength(name) <= maxFileNameBytes;
}

/** A document's name with the format's ending. A name that would be too long loses letters at its end. */
export function evidenceFileName(fileName: string, ending: string): string {
  const letters = Array.from(fileName);
  while (Buffer.byteLength(letters.join('')) + Buffer.byteLength(ending) > maxFileNameBytes) letters.pop();
  return `${letters.join('')}${ending}`;
}

/** The evidence as it leaves. */
export function evidenceDocument(
  document: Pick<InputDocument, 'id' | 'fileName'>,
  evidence: Omit<Evidence, 'content'>,
  content: EvidenceContent,
): EvidenceDocument {
  return {
    ID: document.id,
    ...(document.fileName === undefined ? {} : { fileName: evidenceFileName(document.fileName, evidence.ending) }),
    mimeType: evidence.mimeType,
    ...content,
  };
}
