/**
 * What is wrong with a source, a zone, a code or a picture of 2D-Doc; the message is for the
 * caller.
 */
export class TwoDDocFault extends Error {
  override readonly name = 'TwoDDocFault';
}
