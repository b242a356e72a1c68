import { byteOrderMarkLength, xmlFaultAt } from './xml-fault.ts';

/** Limits of a document that are checked before a parser reads it. */
export interface DocumentLimits {
  /** The root has depth 1. */
  readonly depthMax: number;
  /** Attributes of one element, namespace declarations included. */
  readonly attributesMax: number;
  /** Elements and attributes of the document. */
  readonly nodesMax: number;
}

/** Offsets of the two tags of an element; in `<a/>` both are the same bytes. */
export interface TagPlaces {
  readonly startTagStart: number;
  readonly startTagEnd: number;
  readonly endTagStart: number;
  readonly endTagEnd: number;
  readonly isEmptyTag: boolean;
}

export interface ElementPlace extends TagPlaces {
  /** Start tags of the elements around it, from the root down. */
  readonly ancestors: readonly { readonly startTagStart: number; readonly startTagEnd: number }[];
}

export interface DocumentOutline {
  readonly elements: number;
  /** Undefined if there is no element, or if the first one does not end. */
  readonly root: TagPlaces | undefined;
}

const kinds = { end: 0, startTag: 1, emptyTag: 2, endTag: 3, documentType: 4 } as const;

/**
 * Walks over the tags of a document. It passes over all else, also where a document is not well
 * formed.
 */
class TagCursor {
  readonly #bytes: Uint8Array;
  /** Offsets of the tag that `next` found. */
  start = 0;
  end: number;
  /** Quoted values in the start tag that `next` found. */
  attributes = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.end = byteOrderMarkLength([bytes]);
  }

  /**
   * Moves to the next tag and returns its kind. A start tag without an end extends to the end of
   * the document.
   */
  next(): number {
    const bytes = this.#bytes;
    const length = bytes.length;
    let at = this.end;
    for (;;) {
      while (at < length && bytes[at] !== 0x3c) at += 1;
      if (at + 1 >= length) return this.#found(kinds.end, length, length);
      const second = bytes[at + 1];
      if (second === 0x2f) {
        const start = at;
        at += 2;
        while (at < length && bytes[at] !== 0x3e) at += 1;
        return at < length ? this.#found(kinds.endTag, start, at + 1) : this.#found(kinds.end, length, length);
      }
      if (second === 0x3f) at = afterPair(bytes, at + 2, 0x3f);
      else if (second !== 0x21) return this.#startTag(at);
      else if (startsWith(bytes, at + 2, '--')) at = afterTriple(bytes, at + 4, 0x2d);
      else if (startsWith(bytes, at + 2, '[CDATA[')) at = afterTriple(bytes, at + 9, 0x5d);
      else if (startsWith(bytes, at + 2, 'DOCTYPE')) return this.#found(kinds.documentType, at, at + 9);
      else at += 2;
    }
  }

  #startTag(start: number): number {
    const bytes = this.#bytes;
    const length = bytes.length;
    let attributes = 0;
    let at = start + 1;
    for (; at < length; at += 1) {
      const byte = bytes[at];
      if (byte === 0x3e) {
        this.attributes = attributes;
        return this.#found(bytes[at - 1] === 0x2f ? kinds.emptyTag : kinds.startTag, start, at + 1);
      }
      if (byte !== 0x22 && byte !== 0x27) continue;
      attributes += 1;
      at += 1;
      while (at < length && bytes[at] !== byte) at += 1;
    }
    this.attributes = attributes;
    return this.#found(kinds.startTag, start, length);
  }

  #found(kind: number, start: number, end: number): number {
    this.start = start;
    this.end = end;
    return kind;
  }
}

function startsWith(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (bytes[at + index] !== text.charCodeAt(index)) return false;
  return true;
}

/**
 * Returns the offset behind the next `byte` with a `>`; the end of the document if there is none.
 */
function afterPair(bytes: Uint8Array, from: number, byte: number): number {
  const length = bytes.length;
  for (let at = from + 1; at < length; at += 1) if (bytes[at] === 0x3e && bytes[at - 1] === byte) return at + 1;
  return length;
}

/**
 * Returns the offset behind the next two `byte` with a `>`; the end of the document if there are
 * none.
 */
function afterTriple(bytes: Uint8Array, from: number, byte: number): number {
  const length = bytes.length;
  for (let at = from + 2; at < length; at += 1) if (bytes[at] === 0x3e && bytes[at - 1] === byte && bytes[at - 2] === byte) return at + 1;
  return length;
}

/**
 * Checks a document in UTF-8 before any parser reads it. A document that is not well formed passes,
 * if it exceeds no limit: the parser refuses it.
 * @throws {XmlFault} for a document type declaration before the root, and beyond the limits
 */
export function scanDocument(bytes: Uint8Array, limits: DocumentLimits): DocumentOutline {
  const cursor = new TagCursor(bytes);
  let elements = 0;
  let nodes = 0;
  let depth = 0;
  let rootStart = 0;
  let rootStartEnd = 0;
  let root: TagPlaces | undefined;
  for (let kind = cursor.next(); kind !== kinds.end; kind = cursor.next()) {
    const { start, end } = cursor;
    if (kind === kinds.documentType) {
      if (elements === 0) throw xmlFaultAt([bytes], start, 'a DOCTYPE is not allowed');
      continue;
    }
    if (kind === kinds.endTag) {
      if (depth > 0) depth -= 1;
    } else {
      if (elements === 0) {
        rootStart = start;
        rootStartEnd = end;
      }
      elements += 1;
      nodes += 1 + cursor.attributes;
      if (depth >= limits.depthMax) throw xmlFaultAt([bytes], start, `more than ${limits.depthMax} elements inside each other`);
      if (cursor.attributes > limits.attributesMax)
        throw xmlFaultAt([bytes], start, `more than ${limits.attributesMax} attributes in one element`);
      if (nodes > limits.nodesMax) throw xmlFaultAt([bytes], start, `more than ${limits.nodesMax} elements and attributes`);
      if (kind === kinds.startTag) depth += 1;
    }
    if (depth === 0 && root === undefined && elements > 0)
      root = {
        startTagStart: rootStart,
        startTagEnd: rootStartEnd,
        endTagStart: start,
        endTagEnd: end,
        isEmptyTag: kind === kinds.emptyTag,
      };
  }
  return { elements, root };
}

/**
 * Returns the number of elements of a well-formed document whose start tag begins before an offset.
 */
export function elementsBefore(bytes: Uint8Array, offset: number): number {
  const cursor = new TagCursor(bytes.subarray(0, offset));
  let elements = 0;
  for (let kind = cursor.next(); kind !== kinds.end; kind = cursor.next())
    if (kind === kinds.startTag || kind === kinds.emptyTag) elements += 1;
  return elements;
}

/**
 * Returns the place of an element of a well-formed document in UTF-8. `index` counts in document
 * order; the root is 0.
 * @throws {XmlFault} if there is no such element
 */
export function elementPlace(bytes: Uint8Array, index: number): ElementPlace {
  const cursor = new TagCursor(bytes);
  const open: number[] = [];
  let elements = 0;
  for (let kind = cursor.next(); kind !== kinds.end; kind = cursor.next()) {
    const { start, end } = cursor;
    if (kind === kinds.endTag) {
      open.length = Math.max(0, open.length - 2);
    } else if (kind !== kinds.documentType) {
      if (elements === index) return placeOf(bytes, cursor, kind, open);
      elements += 1;
      if (kind === kinds.startTag) open.push(start, end);
    }
  }
  throw xmlFaultAt([bytes], bytes.length, `no element ${index}`);
}

/**
 * Returns the place of the element whose start tag a cursor has found. `open`: offsets of the start
 * tags around it.
 */
function placeOf(bytes: Uint8Array, cursor: TagCursor, kind: number, open: readonly number[]): ElementPlace {
  const { start, end } = cursor;
  const ancestors = Array.from({ length: open.length / 2 }, (_, at) => ({
    startTagStart: open[2 * at] ?? 0,
    startTagEnd: open[2 * at + 1] ?? 0,
  }));
  if (kind === kinds.emptyTag)
    return { startTagStart: start, startTagEnd: end, endTagStart: start, endTagEnd: end, isEmptyTag: true, ancestors };
  for (let depth = 1; depth > 0;) {
    const next = cursor.next();
    if (next === kinds.end) throw xmlFaultAt([bytes], start, 'the element does not end');
    if (next === kinds.startTag) depth += 1;
    else if (next === kinds.endTag) depth -= 1;
  }
  return { startTagStart: start, startTagEnd: end, endTagStart: cursor.start, endTagEnd: cursor.end, isEmptyTag: false, ancestors };
}
