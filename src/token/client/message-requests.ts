import type { MessageToken } from '../service-keys.ts';
import type { OperationName } from '../wire/frames.ts';
import { writeCreateMessageKey, writeSignMessage, writeVerifyMac } from '../wire/provider-messages.ts';

/** The client's side of keys that sign messages whole. `request` answers the body of a good answer and rejects for any other. */
export function messageRequests(request: (operation: OperationName, body: Uint8Array) => Promise<Uint8Array>): MessageToken {
  return {
    createMessageKey: async (id, type) => request('createMessageKey', writeCreateMessageKey(id, type)),
    signMessage: async (id, algorithm, message) => request('signMessage', writeSignMessage(id, algorithm, message)),
    verifyMac: async (id, hash, message, mac) => (await request('verifyMac', writeVerifyMac(id, hash, message, mac)))[0] === 1,
  };
}
