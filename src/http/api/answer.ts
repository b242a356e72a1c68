import { randomBytes } from 'node:crypto';
import { isFault } from '../../faults.ts';
import { KeyInUse } from '../../keys/attempt-slots.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { ResultSpelling } from '../../operations/operation.ts';
import { Refusal, resultCodes } from '../../result-codes.ts';
import { TokenCannot, TokenFull, TokenUnavailable } from '../../token/token.ts';

export interface ResultValues {
  readonly major: number;
  readonly minor: number;
  readonly message: string;
}

/** Returns the result object in the operation's own spelling (interface, Result object). */
export function resultObject(spelling: ResultSpelling, { major, minor, message }: ResultValues): object {
  return spelling === 'resultMajor'
    ? { resultMajor: major, resultMinor: minor, resultMessage: message }
    : { majorCode: major, minorCode: minor, message };
}

export const success: ResultValues = { major: 0, minor: 0, message: 'success' };

/** Returns the result of a success with words for its message. */
export function successWith(notices: readonly string[]): ResultValues {
  return notices.length === 0 ? success : { ...success, message: notices.join('; ') };
}

/**
 * Returns an error as a caller sees it. An internal error shows only an incident number; the log
 * has the rest.
 */
export function resultOf(error: unknown, operation: string, log: Logger): ResultValues {
  if (error instanceof Refusal && error.code !== 'INTERNAL') {
    const { major, minor } = resultCodes[error.code];
    return { major, minor, message: error.message };
  }
  if (isFault(error, 'WRONG_VALUE')) {
    log.error('the token made a value that does not verify, which nobody got', { operation });
    const { major, minor, text } = resultCodes.TOKEN_UNAVAILABLE;
    return { major, minor, message: text };
  }
  if (error instanceof TokenUnavailable) {
    log.error('the token did not serve a request', { operation, reason: error.message });
    return resultOfToken(error);
  }
  const incident = randomBytes(6).toString('hex');
  log.error('internal error', { operation, incident, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  const { major, minor, text } = resultCodes.INTERNAL;
  return { major, minor, message: `${text}; incident ${incident}` };
}

/** What the token answers is for the log; a caller learns whether another attempt may help. */
function resultOfToken(error: TokenUnavailable): ResultValues {
  if (error instanceof TokenCannot) {
    const { major, minor } = resultCodes.UNSUPPORTED;
    return { major, minor, message: 'the token does not support what the request wants' };
  }
  const { major, minor, text } = resultCodes[error instanceof TokenFull ? 'TOKEN_FULL' : 'TOKEN_UNAVAILABLE'];
  return { major, minor, message: error instanceof KeyInUse ? error.message : text };
}
