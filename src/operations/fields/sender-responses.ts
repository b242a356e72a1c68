import { z } from 'zod';

const SenderResponse = z
  .strictObject({
    date: z.int().describe('time when the gateway answered or timed out, milliseconds since 1970 (UTC)'),
    responseCode: z.string().optional().describe('status code of the gateway; absent if it gave none'),
    url: z.string().describe('the gateway'),
    messageID: z.string().optional().describe('identifier of the message at the gateway'),
    freeText: z.string().optional().describe('response text of the gateway, or the reason for its absence'),
    ID: z.string().describe('identifier of the message in signetd'),
  })
  .meta({ id: 'SenderResponse', description: 'the response of a gateway' });

/** What the gateways answered to a message (interface, sendMessage). */
export const SenderResponses = z
  .strictObject({ senderResponse: z.array(SenderResponse).describe('in the order in which the gateways were asked') })
  .meta({ id: 'SenderResponses', description: 'responses of the gateways' });
