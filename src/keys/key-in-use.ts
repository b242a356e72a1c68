import { TokenUnavailable } from '../token/token.ts';

/**
 * Thrown if other requests that use the key have not ended in time. Nothing is wrong with the
 * token. The message is for callers.
 */
export class KeyInUse extends TokenUnavailable {
  constructor() {
    super(
      'other requests that use this key did not end in time (one may be waiting for a time-stamp); nothing was done, and it is safe to repeat the request',
      { nothingDone: true },
    );
    this.name = 'KeyInUse';
  }
}
