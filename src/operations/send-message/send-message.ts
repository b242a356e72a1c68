import { z } from 'zod';
import { parseKeyReferenceId } from '../../keys/key-record.ts';
import { messageMaxCharacters } from '../../messages/messenger.ts';
import { Refusal } from '../../result-codes.ts';
import { SenderResponses } from '../fields/sender-responses.ts';
import { exampleReference } from '../fields/key-reference.ts';
import { having, where } from '../../fields/documented.ts';
import { longText } from '../../fields/long-values.ts';
import { Sha1Hex, RequestId } from '../../fields/values.ts';
import { operation } from '../operation.ts';
import { Mailbox } from '../../certificates/pkcs10.ts';

/**
 * Control characters other than line breaks and tabs, which could control a terminal or a protocol.
 */
const controls = /[^\P{Cc}\t\n\r]/u;

const { email: maxCharacters } = messageMaxCharacters;

const Message = longText(maxCharacters)
  .superRefine((text, context) => {
    if (text === '') context.addIssue('a message is not empty');
    else if (!text.isWellFormed()) context.addIssue('the text contains a lone surrogate');
    else if (controls.test(text)) context.addIssue('control characters other than tabs and line breaks are not allowed');
  })
  .meta({ minLength: 1, maxLength: maxCharacters })
  .describe('the text; by SMS at most 1,600 characters');

/** Interface, Subscriber. */
const SubscriberField = z
  .strictObject({
    emailAddress: Mailbox.optional().describe('e-mail address, ASCII'),
    phoneNumber: z
      .string()
      .regex(/^\+[1-9]\d{6,14}$/, 'not a telephone number in E.164 form, such as +33612345678')
      .optional()
      .describe('mobile number, E.164'),
  })
  .meta({ id: 'Subscriber', description: 'where a person gets messages' });

/** Sends a text to the given subscriber or to that of a key (contract §7). */
export const sendMessage = operation({
  path: 'pki/sendMessage',
  role: 'messages',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  pace: 'messagesPerMinute',
  summary: 'Sends a text to a subscriber by SMS, or by e-mail if there is no number or the SMS gateway fails.',
  request: z
    .strictObject({
      message: Message,
      keyReferenceId: Sha1Hex.transform((text) => parseKeyReferenceId(text))
        .optional()
        .describe('a key whose subscriber receives the message, unless another is given'),
      subscriber: SubscriberField.optional().describe('recipient of the message'),
      requestID: RequestId.optional(),
    })
    .meta({ ...where({ not: having({ subscriber: {} }) }, having({ keyReferenceId: {} })) }),
  example: { message: 'Your document is ready to be signed.', keyReferenceId: exampleReference.reference },
  answer: z.strictObject({
    senderResponses: SenderResponses.describe('responses of the gateways; also with 2/251 if any was asked'),
  }),
  async run({ message, keyReferenceId, subscriber }, { caller, keys, audit, messages }) {
    if (keyReferenceId === undefined && subscriber === undefined) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: '', message: 'the recipient is missing: subscriber or keyReferenceId is required' });
    }
    audit.key = keyReferenceId;
    const key = keyReferenceId === undefined ? undefined : await keys.find(caller.tenant, keyReferenceId);
    const isGiven = subscriber?.emailAddress !== undefined || subscriber?.phoneNumber !== undefined;
    const answer = await messages.send(isGiven ? subscriber : (key?.subscriber ?? {}), message);
    await messages.settle(answer);
    return answer;
  },
});
