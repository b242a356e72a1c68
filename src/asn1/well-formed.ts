import { children, DerError, readAll, readObjectIdentifier } from './reader.ts';
import type { DerElement } from './reader.ts';

const maxDepth = 32;

/**
 * Returns true if the bytes are exactly one element, in DER on all levels, at most 32 levels deep.
 */
export function isWellFormedDer(bytes: Uint8Array): boolean {
  try {
    checkElement(readAll(bytes), 1);
    return true;
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}

function checkElement(element: DerElement, depth: number): void {
  if (depth > maxDepth) throw new DerError('nested too deeply', element.start);
  if (element.tag < 0x40) checkUniversal(element);
  if (element.constructed) for (const part of children(element)) checkElement(part, depth + 1);
}

/** Checks the content of universal types for which X.690 prescribes a form. */
function checkUniversal(element: DerElement): void {
  const { tag, content } = element;
  const isConstructedType = (tag & 0x1f) === 0x10 || (tag & 0x1f) === 0x11 || (tag & 0x1f) === 0x08;
  const [first = 0, second = 0] = content;
  const wrong =
    element.constructed !== isConstructedType ||
    (tag === 0x01 && !(content.length === 1 && (first === 0x00 || first === 0xff))) ||
    (tag === 0x02 && (content.length === 0 || (content.length > 1 && (first === 0 ? second < 0x80 : first === 0xff && second >= 0x80)))) ||
    (tag === 0x03 && (content.length === 0 || first > 7 || (content.length === 1 && first > 0))) ||
    (tag === 0x05 && content.length > 0);
  if (wrong) throw new DerError('content not valid for its type', element.start);
  if (tag === 0x06) readObjectIdentifier(element);
}
