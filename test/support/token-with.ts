import { recordingToken } from '../../src/audit/use-recorder.ts';
import type { Token } from '../../src/token/token.ts';

/** The token, some of whose methods do something else. */
export function tokenWith(token: Token, changes: Partial<Token>): Token {
  return { ...recordingToken(token, () => undefined), ...changes };
}
