import { children, DerError } from './reader.ts';
import type { DerElement } from './reader.ts';

/** The fields of a SEQUENCE, taken one after the other. */
export class SequenceFields {
  readonly #parts: DerElement[];
  readonly #start: number;
  #at = 0;

  constructor(element: DerElement) {
    this.#parts = children(element);
    this.#start = element.start;
  }

  /** The next field's tag. */
  get tag(): number | undefined {
    return this.#parts[this.#at]?.tag;
  }

  next(tag?: number): DerElement {
    const part = this.#parts[this.#at];
    if (part === undefined) throw new DerError('a field is absent', this.#start);
    this.#at += 1;
    return tag === undefined ? part : expectTag(part, tag);
  }

  end(): void {
    if (this.tag !== undefined) throw new DerError('a field too many', this.#start);
  }
}

/** The element, if it has the identifier octet. @throws {DerError} otherwise. */
export function expectTag(element: DerElement, tag: number): DerElement {
  if (element.tag !== tag) throw new DerError(`the tag ${element.tag} instead of ${tag}`, element.start);
  return element;
}
