import type { MessageToken } from '../service-keys.ts';
import { TokenUnavailable, type TokenMacKey } from '../token.ts';
import { writeDestroyMacKey, writeGeneration } from '../wire/messages.ts';
import { statuses, type Answer, type OperationName } from '../wire/frames.ts';
import { writeCreateMessageKey, writeSignMessage, writeVerifyMac } from '../wire/provider-messages.ts';
import { bodyOf, madeKeyIn } from './answers.ts';

type Request = (operation: OperationName, body: Uint8Array) => Promise<Answer>;

/** Client side of the MAC keys. */
export function macKeyRequests(request: Request): TokenMacKey {
  return {
    async check(generation = 0) {
      const answer = await request('checkMacKey', writeGeneration(generation));
      return answer.status === statuses.noMacKey ? undefined : bodyOf(answer);
    },
    make: async (generation = 0) => bodyOf(await request('makeMacKey', writeGeneration(generation))),
    async destroy(generation, current) {
      bodyOf(await request('destroyMacKey', writeDestroyMacKey(generation, current)));
    },
  };
}

/**
 * Returns why a host must not be used, by its answer to `checkMacKey`; undefined if its MAC key has
 * the expected check value.
 */
export function macKeyFault(answer: Answer, expected: Uint8Array): string | undefined {
  if (answer.status === statuses.noMacKey) return 'the token does not have the MAC key with which the state store was used';
  try {
    return bodyOf(answer).equals(expected) ? undefined : "the token's MAC key is not the one with which the state store was used";
  } catch (error) {
    if (error instanceof TokenUnavailable) return error.message;
    throw error;
  }
}

/** Client side of keys that sign whole messages. */
export function messageRequests(request: Request): MessageToken {
  return {
    createMessageKey: async (id, type) => madeKeyIn(await request('createMessageKey', writeCreateMessageKey(id, type))),
    signMessage: async (id, algorithm, message) => bodyOf(await request('signMessage', writeSignMessage(id, algorithm, message))),
    verifyMac: async (id, hash, message, mac) => bodyOf(await request('verifyMac', writeVerifyMac(id, hash, message, mac)))[0] === 1,
  };
}
