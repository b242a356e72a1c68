import { TokenUnavailable } from '../token/token.ts';

/** Other uses of a key have not ended in time: nothing is known to be wrong with the token. The message is for callers. */
export class KeyInUse extends TokenUnavailable {
  constructor() {
    super(
      'other requests that use this key have not ended in time, such as one that waits for a time-stamp; nothing was done, it is safe to repeat the request',
      { nothingDone: true },
    );
    this.name = 'KeyInUse';
  }
}
