/** Thrown for XML that cannot be read or processed. */
export class XmlFault extends Error {
  /** From 1; undefined if no place in the document is at fault. */
  readonly line: number | undefined;
  /** From 1, in characters. */
  readonly column: number | undefined;

  constructor(message: string, place?: { readonly line: number; readonly column: number }) {
    super(message);
    this.line = place?.line;
    this.column = place?.column;
  }
}
