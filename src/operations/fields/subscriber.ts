import { z } from 'zod';
import { isMailbox } from '../../certificates/internet-names.ts';

/** Interface, Subscriber. */
export const SubscriberField = z.strictObject({
  emailAddress: z.string().refine(isMailbox, 'not an e-mail address').optional().describe('e-mail address'),
  phoneNumber: z
    .string()
    .regex(/^\+[1-9]\d{6,14}$/, 'not a telephone number in E.164 form, such as +33612345678')
    .optional()
    .describe('mobile number, E.164'),
});
