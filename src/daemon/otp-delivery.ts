import type { Caller } from '../clients/caller.ts';
import type { Deliver } from '../keys/otp-delivery.ts';
import { deliverOtp } from '../messages/messenger.ts';
import type { Context } from '../operations/operation.ts';

/** How one-time passwords reach the subscribers of a caller's tenant, in the tenant's words. */
export function otpDelivery({ config, messages }: Pick<Context, 'config' | 'messages'>, { tenant }: Caller): Deliver | undefined {
  const text = config.tenants[tenant]?.otpText ?? config.messages?.otpText;
  return text === undefined || config.messages === undefined
    ? undefined
    : async (subscriber, otp) => deliverOtp(messages, text, subscriber, otp);
}
