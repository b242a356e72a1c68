/** A module that tells when a thread has loaded it. */
import { BroadcastChannel, threadId } from 'node:worker_threads';

export const loadedChannel = 'announcing-functions';

const channel = new BroadcastChannel(loadedChannel);
channel.postMessage(threadId);
channel.close();

export function thread(): number {
  return threadId;
}

/** Ends when the first of the shared octets is not zero. */
export function untilTold({ told }: { readonly told: SharedArrayBuffer }): number {
  while (Atomics.load(new Int32Array(told), 0) === 0);
  return threadId;
}
