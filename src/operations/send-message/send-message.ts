import { z } from 'zod';
import { parseKeyReferenceId } from '../../keys/key-record.ts';
import { messageMaxCharacters } from '../../messages/messenger.ts';
import { Refusal } from '../../result-codes.ts';
import { exampleReference } from '../fields/key-reference.ts';
import { longText } from '../../fields/long-values.ts';
import { Sha1Hex, RequestId } from '../../fields/values.ts';
import { operation } from '../operation.ts';
import { isMailbox } from '../../certificates/internet-names.ts';

/** Line breaks and tabs are text; what else controls a terminal or a protocol is none. */
const controls = /[^\P{Cc}\t\n\r]/u;

const { email: maxCharacters } = messageMaxCharacters;

const Message = longText(maxCharacters)
  .superRefine((text, context) => {
    if (text === '') context.addIssue('a message is not empty');
    else if (!text.isWellFormed()) context.addIssue('text with a lone surrogate');
    else if (controls.test(text)) context.addIssue('text has no control characters but tabs and line breaks');
  })
  .meta({ minLength: 1, maxLength: maxCharacters })
  .describe('the text; by SMS at most 1,600 characters');

/** Interface, Subscriber. */
export const SubscriberField = z.strictObject({
  emailAddress: z.string().refine(isMailbox, 'not an e-mail address').optional().describe('e-mail address'),
  phoneNumber: z
    .string()
    .regex(/^\+[1-9]\d{6,14}$/, 'not a telephone number in E.164 form, such as +33612345678')
    .optional()
    .describe('mobile number, E.164'),
});

const SenderResponse = z.strictObject({
  date: z.int().describe('when the gateway answered or was given up, milliseconds since 1970 (UTC)'),
  responseCode: z.string().optional().describe("the gateway's status code; absent where it gave none"),
  url: z.string().describe('the gateway'),
  messageID: z.string().optional().describe('the identifier that the gateway gave the message'),
  freeText: z.string().optional().describe("the gateway's words, or why there are none"),
  ID: z.string().describe('the identifier that signetd gave the message'),
});

/** Sends a text to a subscriber (contract §7): the one given, or that of a key. */
export const sendMessage = operation({
  path: 'pki/sendMessage',
  role: 'messages',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  pace: 'messagesPerMinute',
  summary: 'Sends a text to a subscriber by SMS, or by e-mail where there is no number or the SMS gateway fails.',
  request: z.strictObject({
    message: Message,
    keyReferenceId: Sha1Hex.transform((text) => parseKeyReferenceId(text))
      .optional()
      .describe('a key: its subscriber gets the message, unless another is given'),
    subscriber: SubscriberField.optional().describe('who gets the message'),
    requestID: RequestId.optional().describe('answered as it is'),
  }),
  example: { message: 'Your document is ready to be signed.', keyReferenceId: exampleReference.reference },
  answer: z.strictObject({
    senderResponses: z
      .strictObject({ senderResponse: z.array(SenderResponse).describe('in the order in which the gateways were asked') })
      .describe('what the gateways answered; with 2/251 too, where any was asked'),
  }),
  async run({ message, keyReferenceId, subscriber }, { caller, keys, audit, messages }) {
    if (keyReferenceId === undefined && subscriber === undefined) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: '', message: 'subscriber or keyReferenceId is needed: who gets the message' });
    }
    audit.key = keyReferenceId;
    const key = keyReferenceId === undefined ? undefined : await keys.find(caller.tenant, keyReferenceId);
    const isGiven = subscriber?.emailAddress !== undefined || subscriber?.phoneNumber !== undefined;
    const answer = await messages.send(isGiven ? subscriber : (key?.subscriber ?? {}), message);
    await messages.settle(answer);
    return answer;
  },
});
