/**
 * A long text of a big request, as the bytes that were received: it was checked and, where it is base64, decoded outside of the event loop, and it
 * never becomes a string there. The bytes may lie in memory that threads share; nobody writes to them any more.
 */
export class LongText {
  /** `base64`: what the text decodes to (strict, RFC 4648 §4). `text`: its UTF-8. */
  readonly kind: 'base64' | 'text';
  readonly bytes: Uint8Array;

  constructor(kind: 'base64' | 'text', bytes: Uint8Array) {
    this.kind = kind;
    this.bytes = bytes;
  }

  /** Bytes of the text itself in UTF-8. */
  get textBytes(): number {
    return this.kind === 'text' ? this.bytes.length : Math.ceil(this.bytes.length / 3) * 4;
  }

  /** The text itself; for short ones. */
  toText(): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length).toString(this.kind === 'text' ? 'utf8' : 'base64');
  }
}
