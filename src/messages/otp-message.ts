import { fillTemplate, parseTemplate } from '../config/message-template.ts';
import { Refusal } from '../result-codes.ts';
import type { Messenger, Recipient } from './messenger.ts';

/**
 * Sends a one-time password to its owner, with the configured text. The gateways' responses are not
 * passed on, since they may contain the password, which the caller must not see.
 * @throws {Refusal} MESSAGE_NOT_SENT
 */
export async function deliverOtp(messenger: Messenger, template: string, recipient: Recipient, otp: string): Promise<void> {
  const text = fillTemplate(parseTemplate(template, ['otp']), new Map([['otp', otp]]));
  try {
    await messenger.send(recipient, text);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal('MESSAGE_NOT_SENT', { message: error.message });
  }
}
