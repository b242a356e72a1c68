import type { Workload } from '../format.ts';

/** Size from which XML is parsed in a thread. */
const threadBeyondBytes = 16 * 1024;
/** Namespace declarations of a small document that is parsed on the event loop. */
const declarationsMax = 8;
/** XPath that libxml2 does not count in steps can take hours. */
const xpathDeadlineMs = 30_000;

/**
 * Returns the workload of an XML document. `xpathAt`: JSON Pointer of an XPath of the caller, which
 * can take long in a small document too.
 */
export function xadesWorkload(xpathAt?: string): Workload {
  if (xpathAt === undefined) return { threadBeyondBytes, lane: 'parsing', isRisky: mayTakeLong };
  const deadline = { ms: xpathDeadlineMs, at: xpathAt, message: 'the XPath expression takes too long in this document' };
  return { threadBeyondBytes: 0, lane: 'parsing', deadline };
}

/**
 * Checks whether a document has many namespaces or signatures, whose transforms may hold XPath. A
 * name cannot contain character references; encodings with more than one byte for an ASCII
 * character show by NUL.
 */
function mayTakeLong(content: Uint8Array): boolean {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  if (bytes.includes('SignedInfo') || bytes.includes(0)) return true;
  // Inclusive canonicalisation takes a time that grows with the square of the namespaces in scope.
  let declarations = 0;
  for (let at = bytes.indexOf('xmlns'); at >= 0 && declarations <= declarationsMax; at = bytes.indexOf('xmlns', at + 1)) declarations += 1;
  return declarations > declarationsMax;
}
