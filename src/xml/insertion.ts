import { elementPlace, type ElementPlace } from './scanner.ts';

/** Where something is inserted relative to an element. */
export type InsertionPlace = 'FIRST_CHILD' | 'LAST_CHILD' | 'NEXT_SIBLING';

/** A place in a document between whose bytes an element is inserted. */
export interface Insertion {
  /** Offset in the UTF-8 document. */
  readonly offset: number;
  /** Bytes from there on that give way: the end of an empty tag, of which two tags are made. */
  readonly replacedBytes: number;
  /** ASCII before the inserted element. */
  readonly before: string;
  /** Text after the inserted element. */
  readonly after: string;
  /** Start tags of the elements around it, from the root down. */
  readonly around: readonly string[];
}

/**
 * Returns the place in a well-formed document. `index`: position of the element among all elements;
 * the root has 0.
 */
export function insertionAt(utf8: Uint8Array, index: number, place: InsertionPlace): Insertion {
  return insertionIn(utf8, elementPlace(utf8, index), place);
}

/** Returns the place at an element whose tags are known. */
export function insertionIn(utf8: Uint8Array, element: ElementPlace, place: InsertionPlace): Insertion {
  const { startTagStart, startTagEnd, endTagStart, endTagEnd, isEmptyTag, ancestors } = element;
  const text = (start: number, end: number): string => Buffer.from(utf8.subarray(start, end)).toString();
  const around = ancestors.map((one) => text(one.startTagStart, one.startTagEnd));
  if (place === 'NEXT_SIBLING') return { offset: endTagEnd, replacedBytes: 0, before: '', after: '', around };
  const tag = text(startTagStart, startTagEnd);
  if (isEmptyTag) {
    const after = `</${tagName(tag)}>`;
    return { offset: startTagEnd - 2, replacedBytes: 2, before: '>', after, around: [...around, `${tag.slice(0, -2)}>`] };
  }
  return { offset: place === 'FIRST_CHILD' ? startTagEnd : endTagStart, replacedBytes: 0, before: '', after: '', around: [...around, tag] };
}

/** Returns an element with nothing around it but the start tags of its ancestors, as a document. */
export function inContext(around: readonly string[], inserted: string): string {
  const ends = around.map((tag) => `</${tagName(tag)}>`).toReversed();
  return `${around.join('')}${inserted}${ends.join('')}`;
}

function tagName(tag: string): string {
  return /^<([^ \t\r\n/>]+)/.exec(tag)?.[1] ?? '';
}
