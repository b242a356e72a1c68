/**
 * Why a path is not valid, and which certificate is at fault (0: the one below the trust anchor).
 */
export class PathFault extends Error {
  readonly index: number;

  constructor(message: string, index: number) {
    super(message);
    this.index = index;
  }
}

/** The certificates are so many or so large that further search would delay other requests. */
export class TooMuchEffort extends PathFault {
  constructor(what: string) {
    super(`too many ${what} in its certificates`, 0);
  }
}

/** No chain leads from a trust anchor to the certificate. */
export class NoAnchor extends PathFault {
  constructor() {
    super('no path from a trust anchor', 0);
  }
}
