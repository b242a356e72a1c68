/** What a gateway says of one message, as the interface has it (sendMessage, senderResponse). */
export interface GatewayAnswer {
  /** When it answered, or was given up; milliseconds since epoch. */
  readonly date: number;
  /** Its status code; absent where it gave none. */
  readonly responseCode?: string;
  /** Where it is: without query, and without what placeholders stand for. */
  readonly url: string;
  /** The identifier that it gave the message. */
  readonly messageID?: string;
  /** Its words, or why there are none. */
  readonly freeText?: string;
  /** The identifier that signetd gave the message. */
  readonly ID: string;
}

/** How an attempt to hand a message to a gateway ended. */
export interface Attempt {
  readonly accepted: boolean;
  readonly answer: GatewayAnswer;
  /** For the log: a status, or why there was no answer. Nothing of message, recipient and gateway's words is in it. */
  readonly outcome: string;
}

/** One way to reach people. */
export interface Gateway {
  /** Hands over one message. Whatever the gateway does becomes an attempt; nothing of it is thrown. */
  send(to: string, text: string): Promise<Attempt>;
  /** Messages on their way still get to their end. */
  close(): void;
}
