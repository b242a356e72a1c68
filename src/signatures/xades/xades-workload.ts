import type { Workload } from '../format.ts';

/** Size from which XML is parsed in a thread. */
const threadBeyondBytes = 16 * 1024;

/** Returns the workload of an XML document. XPath of callers can take long in small documents too. */
export function xadesWorkload({ hasXPath }: { readonly hasXPath: boolean }): Workload {
  return { threadBeyondBytes: hasXPath ? 0 : threadBeyondBytes, lane: 'parsing' };
}
