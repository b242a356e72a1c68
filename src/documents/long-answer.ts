import { randomBytes } from 'node:crypto';

/** Placeholder for a long text while JSON is written. It is secret, so no input can contain it. */
const mark = randomBytes(16).toString('hex');
let collecting: LongAnswer[] | undefined;

/**
 * A long text of an answer as the bytes to send: ASCII without quotes and backslashes, such as
 * base64. It never becomes a string on the event loop.
 */
export class LongAnswer {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  toJSON(): string {
    if (collecting === undefined) return Buffer.from(this.bytes).toString('latin1');
    collecting.push(this);
    return mark;
  }
}

/** Returns the JSON of a value in pieces: text, and the bytes of the LongAnswers in it. */
export function jsonPieces(value: object): readonly (string | Uint8Array)[] {
  const long: LongAnswer[] = [];
  collecting = long;
  let text: string;
  try {
    text = JSON.stringify(value);
  } finally {
    collecting = undefined;
  }
  return long.length === 0
    ? [text]
    : text.split(mark).flatMap((part, index) => [part, ...(long[index] === undefined ? [] : [long[index].bytes])]);
}
