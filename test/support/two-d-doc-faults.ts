import { TwoDDocFault } from '../../src/twoddoc/two-d-doc-fault.ts';

/** Returns the message of the TwoDDocFault of some work; 'no fault' if there is none. */
export function faultOf(work: () => unknown): string {
  try {
    work();
    return 'no fault';
  } catch (error) {
    if (!(error instanceof TwoDDocFault)) throw error;
    return error.message;
  }
}
