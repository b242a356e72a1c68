import type { Subscriber } from './key-record.ts';

/** Sends a text to the owner of a key: the port that `messages/` implements. */
export interface Deliver {
  /**
   * Resolves when a gateway has accepted the text.
   * @throws {Refusal} if the owner cannot be reached, or no gateway accepts the text
   */
  (subscriber: Subscriber, text: string): Promise<void>;
}
