/**
 * A long text of a request, as bytes: it was checked and, if it is base64, decoded when the body was
 * read, and never becomes a string on the event loop. The bytes may be in shared memory; they are no
 * longer written to.
 */
export class LongText {
  /** `base64`: the decoded bytes (strict, RFC 4648 §4). `text`: the text in UTF-8. */
  readonly kind: 'base64' | 'text';
  readonly bytes: Uint8Array;

  constructor(kind: 'base64' | 'text', bytes: Uint8Array) {
    this.kind = kind;
    this.bytes = bytes;
  }

  /** Length of the text itself in UTF-8. */
  get textBytes(): number {
    return this.kind === 'text' ? this.bytes.length : Math.ceil(this.bytes.length / 3) * 4;
  }

  /** Returns the text itself. Only for short texts. */
  toText(): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length).toString(this.kind === 'text' ? 'utf8' : 'base64');
  }
}
