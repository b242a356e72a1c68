import type { Subscriber } from './key-record.ts';

/** How a text reaches the owner of a key: the port that the messages room serves. */
export interface Deliver {
  /** Returns once a gateway has taken the text. @throws {Refusal} where nobody is to be reached, or no gateway takes it. */
  (subscriber: Subscriber, text: string): Promise<void>;
}
