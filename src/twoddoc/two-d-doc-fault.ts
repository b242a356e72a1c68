import { Refusal, resultCodes, type ResultName } from '../result-codes.ts';

/**
 * What is wrong with a source, a zone, a code or a picture of 2D-Doc; the message is for the
 * caller.
 */
export class TwoDDocFault extends Error {
  override readonly name = 'TwoDDocFault';
}

/**
 * Runs a step on what a caller gave. `at`: JSON Pointer of the field.
 * @throws {Refusal} `code` instead of a TwoDDocFault
 */
export function refusing<T>(at: string, step: () => T, code: ResultName = 'DOCUMENT_INVALID'): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof TwoDDocFault)) throw error;
    throw new Refusal(code, { at, message: error.message, cause: error, recorded: resultCodes[code].text });
  }
}
