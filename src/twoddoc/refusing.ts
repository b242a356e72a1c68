import { Refusal } from '../result-codes.ts';
import { TwoDDocFault } from './two-d-doc-fault.ts';

/**
 * Runs a step on what a caller gave. `at`: JSON Pointer of the field.
 * @throws {Refusal} DOCUMENT_INVALID instead of a TwoDDocFault
 */
export function refusing<T>(at: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof TwoDDocFault)) throw error;
    throw new Refusal('DOCUMENT_INVALID', { at, message: error.message, cause: error });
  }
}
