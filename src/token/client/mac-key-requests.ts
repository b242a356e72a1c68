import { TokenUnavailable, type TokenMacKey } from '../token.ts';
import { statuses, type Answer, type OperationName } from '../wire/frames.ts';

const nothing = new Uint8Array();

/** The client's side of the key that secrets are checked with. `ok` answers the body of a good answer and throws for any other. */
export function macKeyRequests(
  request: (operation: OperationName, body: Uint8Array) => Promise<Answer>,
  ok: (answer: Answer) => Uint8Array,
): TokenMacKey {
  return {
    async check() {
      const answer = await request('checkMacKey', nothing);
      return answer.status === statuses.noMacKey ? undefined : ok(answer);
    },
    make: async () => ok(await request('makeMacKey', nothing)),
  };
}

/** Why a host cannot be worked with, by its answer to `checkMacKey`; undefined where it has the key that is known by `expected`. */
export function macKeyFault(answer: Answer, expected: Uint8Array, ok: (answer: Answer) => Uint8Array): string | undefined {
  if (answer.status === statuses.noMacKey) return missingMacKey;
  try {
    return Buffer.from(ok(answer)).equals(expected) ? undefined : otherMacKey;
  } catch (error) {
    if (error instanceof TokenUnavailable) return error.message;
    throw error;
  }
}

export const missingMacKey = 'the token does not have the key for secrets (MAC key) that the state store was used with';
export const otherMacKey = 'the token has another key for secrets (MAC key) than the one that the state store was used with';
