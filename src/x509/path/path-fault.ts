/**
 * Why a path is not valid, and which certificate is at fault (0: the one below the trust anchor).
 */
export class PathFault extends Error {
  readonly index: number;

  constructor(message: string, index: number) {
    super(message);
    this.name = 'PathFault';
    this.index = index;
  }
}
