import type { SignedFile } from '../documents/content-pieces.ts';
import type { InputDocument } from '../documents/document.ts';
import type { Prepared } from './format.ts';

/**
 * The documents with what `prepare` found in their files: reading one of them again, for a digest that a key is bound to, throws CONTENT_CHANGED where the file holds
 * something else by then. Else a file that is swapped between the two would be signed in the name of another.
 */
export function documentsAsPrepared(documents: readonly InputDocument[], prepared: readonly Prepared<unknown>[]): readonly InputDocument[] {
  return documents.map((document, index) => {
    const { source } = document;
    const digest = prepared[index]?.documentDigest;
    if (digest === undefined || !('content' in source) || source.content instanceof Uint8Array) return document;
    const file: SignedFile = { ...source.content, digest };
    return { ...document, source: { content: file } };
  });
}
