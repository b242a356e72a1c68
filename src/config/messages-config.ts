import { resolve } from 'node:path';
import { z } from 'zod';
import { EmailConfig } from './email-config.ts';
import { placeholdersOf, TemplateError } from './message-template.ts';
import { SmsConfig } from './sms-config.ts';
import { absoluteReference } from './secret-reference.ts';

/** Text of the message with a one-time password. */
export const OtpText = z
  .string()
  .min(1)
  .max(1000)
  .superRefine((text, context) => {
    try {
      if (placeholdersOf(text, ['otp']).includes('otp')) return;
      context.addIssue({ code: 'custom', message: '{{otp}}, the placeholder for the one-time password, is missing' });
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
    }
  });

/** Gateways and texts for messages to subscribers. */
export const MessagesConfig = z
  .strictObject({
    sms: SmsConfig.optional().describe('HTTP gateway for SMS. Default: no SMS is sent.'),
    email: EmailConfig.optional().describe('SMTP server for e-mail. Default: no e-mail is sent.'),
    otpText: OtpText.default('Your one-time password is {{otp}}. It is valid for 5 minutes. Do not share it with anyone.').describe(
      'Message with which sendOTP delivers a one-time password, for which {{otp}} stands. A tenant can override it.',
    ),
  })
  .refine(({ sms, email }) => sms !== undefined || email !== undefined, 'sms or email is required');
export type MessagesConfig = z.output<typeof MessagesConfig>;

/** Makes the paths absolute. */
export function absoluteMessages({ sms, email, otpText }: MessagesConfig, base: string): MessagesConfig {
  const reference = <T extends string | undefined>(value: T): T | string => (value === undefined ? value : absoluteReference(value, base));
  const file = <T extends string | undefined>(value: T): T | string => (value === undefined ? value : resolve(base, value));
  return {
    otpText,
    ...(sms === undefined
      ? {}
      : {
          sms: {
            ...sms,
            certificateAuthority: file(sms.certificateAuthority),
            secrets: Object.fromEntries(Object.entries(sms.secrets).map(([name, value]) => [name, absoluteReference(value, base)])),
            ...(sms.basicAuthentication === undefined
              ? {}
              : {
                  basicAuthentication: { ...sms.basicAuthentication, password: absoluteReference(sms.basicAuthentication.password, base) },
                }),
          },
        }),
    ...(email === undefined
      ? {}
      : { email: { ...email, certificateAuthority: file(email.certificateAuthority), password: reference(email.password) } }),
  };
}
