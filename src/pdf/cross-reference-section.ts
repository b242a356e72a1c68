import type { PdfDictionary } from './objects.ts';

/** Where an object is: in the file, in an object stream, or nowhere. */
export type CrossReferenceEntry =
  | { readonly kind: 'FREE'; readonly next: number; readonly generation: number }
  | { readonly kind: 'FILE'; readonly offset: number; readonly generation: number }
  | { readonly kind: 'STREAM'; readonly stream: number; readonly index: number };

/** A range of objects of a section. */
export interface Subsection {
  readonly first: number;
  readonly count: number;
  entry(index: number): CrossReferenceEntry;
}

/** A section of the cross-reference: what one revision changed. */
export interface CrossReferenceSection {
  readonly kind: 'TABLE' | 'STREAM';
  /** Offset in the file, as `startxref` counts it. */
  readonly offset: number;
  readonly trailer: PdfDictionary;
  readonly subsections: readonly Subsection[];
  /**
   * The stream of a hybrid file with the objects that older readers do not see (ISO 32000-2,
   * 7.5.8.4).
   */
  readonly hidden: readonly Subsection[];
}
