import { children, DerError } from './reader.ts';
import type { DerElement } from './reader.ts';

/** Reads the fields of a SEQUENCE one after another. */
export class SequenceFields {
  readonly #parts: DerElement[];
  readonly #start: number;
  #at = 0;

  constructor(element: DerElement) {
    this.#parts = children(element);
    this.#start = element.start;
  }

  /** Tag of the next field; undefined at the end. */
  get tag(): number | undefined {
    return this.#parts[this.#at]?.tag;
  }

  next(tag?: number): DerElement {
    const part = this.#parts[this.#at];
    if (part === undefined) throw new DerError('missing field', this.#start);
    this.#at += 1;
    return tag === undefined ? part : expectTag(part, tag);
  }

  end(): void {
    if (this.tag !== undefined) throw new DerError('unexpected field', this.#start);
  }
}

/** Returns the element if it has the identifier octet. @throws {DerError} otherwise */
export function expectTag(element: DerElement, tag: number): DerElement {
  if (element.tag !== tag) throw new DerError(`tag ${element.tag} instead of ${tag}`, element.start);
  return element;
}
