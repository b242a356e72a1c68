/** Response of a gateway to one message, in the form of the API (sendMessage, senderResponse). */
export interface GatewayAnswer {
  /** Time of the response or of the timeout; milliseconds since epoch. */
  readonly date: number;
  /** Its status code; absent if there is none. */
  readonly responseCode?: string;
  /** URL without query and without the values of placeholders. */
  readonly url: string;
  /** Message identifier assigned by the gateway. */
  readonly messageID?: string;
  /** Its text, or why there is none. */
  readonly freeText?: string;
  /** Message identifier assigned by signetd. */
  readonly ID: string;
}

/** Result of an attempt to pass a message to a gateway. */
export interface Attempt {
  readonly accepted: boolean;
  readonly answer: GatewayAnswer;
  /**
   * For the log: a status, or why there was no response. It contains nothing of the message, the
   * recipient or the gateway's text.
   */
  readonly outcome: string;
}

/** A channel for messages. */
export interface Gateway {
  /** Passes one message to the gateway. Failures of the gateway are returned, never thrown. */
  send(to: string, text: string): Promise<Attempt>;
  /** Closes connections; messages being sent still complete. */
  close(): void;
}
