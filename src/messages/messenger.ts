import { auditSteps } from '../audit/audited-request.ts';
import type { MessagesConfig } from '../config/messages-config.ts';
import { Refusal } from '../result-codes.ts';
import { outcomeSteps } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { MessageMetrics } from '../telemetry/outgoing-metrics.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { EmailGateway } from './email-gateway.ts';
import type { Attempt, Gateway, GatewayAnswer } from './gateway.ts';
import { SmsGateway } from './sms-gateway.ts';
import { fillTemplate, parseTemplate } from '../config/message-template.ts';

/** Maximum length of a message in characters (contract §7). */
export const messageMaxCharacters = { sms: 1600, email: 100_000 } as const;

/** Recipient of a message. The addresses are already validated: an E.164 number and a mailbox. */
export interface Recipient {
  readonly emailAddress?: string | undefined;
  readonly phoneNumber?: string | undefined;
}

export type Channel = keyof typeof messageMaxCharacters;

/** Responses of the gateways, in the order of the attempts (API, sendMessage). */
export interface SenderResponses {
  readonly senderResponses: { readonly senderResponse: GatewayAnswer[] };
}

interface Route {
  readonly channel: Channel;
  readonly gateway: Gateway;
  readonly to: string;
}

/** Services that a messenger needs. */
export interface MessengerSurroundings {
  readonly store: Pick<StateStore, 'commit'>;
  readonly log: Logger;
  readonly metrics: MessageMetrics;
  /** For searching the gateways' texts. */
  readonly threads: WorkThreads;
}

/**
 * Sends messages to subscribers: first by SMS, then by e-mail if the SMS gateway fails (contract
 * §7).
 */
export class Messenger {
  readonly #gateways: Readonly<Record<Channel, Gateway | undefined>>;
  readonly #surroundings: MessengerSurroundings;

  /** @throws {ConfigError} if a gateway cannot work with its configuration */
  constructor(config: MessagesConfig | undefined, surroundings: MessengerSurroundings) {
    this.#gateways = {
      sms: config?.sms === undefined ? undefined : new SmsGateway(config.sms, surroundings.threads),
      email: config?.email === undefined ? undefined : new EmailGateway(config.email, surroundings.threads),
    };
    this.#surroundings = surroundings;
  }

  /**
   * Passes a text to the first gateway that accepts it. A text too long for an SMS is sent by
   * e-mail only.
   * @throws {Refusal} FIELD_INVALID if the text is too long and only SMS is possible;
   * MESSAGE_NOT_SENT with the responses of the gateways
   */
  async send(recipient: Recipient, text: string): Promise<SenderResponses> {
    const { log, metrics } = this.#surroundings;
    const attempts: Attempt[] = [];
    const lines = text.replaceAll(/\r\n?/g, '\n');
    for (const { channel, gateway, to } of this.#routes(recipient, lines)) {
      const started = performance.now();
      const attempt = await gateway.send(to, lines);
      metrics.asked(channel, attempt.accepted, performance.now() - started);
      attempts.push(attempt);
      if (attempt.accepted) return answerOf(attempts);
      log.warn('a gateway did not accept a message', { channel, url: attempt.answer.url, outcome: attempt.outcome });
    }
    throw new Refusal('MESSAGE_NOT_SENT', {
      message: attempts.length > 1 ? 'no gateway accepted the message' : 'the gateway did not accept the message',
      answer: answerOf(attempts),
    });
  }

  /** Whether a gateway is configured for an address of the recipient. */
  reaches({ emailAddress, phoneNumber }: Recipient): boolean {
    const { sms, email } = this.#gateways;
    return (phoneNumber !== undefined && sms !== undefined) || (emailAddress !== undefined && email !== undefined);
  }

  /** Records that a message was sent, and the outcome of its request, in one commit. */
  async settle(answer: SenderResponses): Promise<void> {
    const steps = [...auditSteps('a message was sent'), ...(await outcomeSteps({ answer }))];
    if (steps.length > 0) await this.#surroundings.store.commit(steps);
  }

  /** Closes connections; messages being sent still complete. */
  close(): void {
    for (const gateway of Object.values(this.#gateways)) gateway?.close();
  }

  #routes({ emailAddress, phoneNumber }: Recipient, text: string): Route[] {
    const routes = (['sms', 'email'] as const).flatMap((channel): Route[] => {
      const [to, gateway] = [channel === 'sms' ? phoneNumber : emailAddress, this.#gateways[channel]];
      return to === undefined || gateway === undefined ? [] : [{ channel, gateway, to }];
    });
    if (routes.length === 0) throw new Refusal('MESSAGE_NOT_SENT', { message: unreachableReason({ emailAddress, phoneNumber }) });
    const characters = Array.from(text).length;
    const fitting = routes.filter(({ channel }) => characters <= messageMaxCharacters[channel]);
    const [route] = routes;
    if (fitting.length === 0 && route !== undefined) {
      const [name, max] = [route.channel === 'sms' ? 'an SMS' : 'an e-mail', messageMaxCharacters[route.channel]];
      throw new Refusal('FIELD_INVALID', { at: '/message', message: `${characters} characters; ${name} may have at most ${max}` });
    }
    return fitting;
  }
}

function answerOf(attempts: readonly Attempt[]): SenderResponses {
  return { senderResponses: { senderResponse: attempts.map(({ answer }) => answer) } };
}

function unreachableReason({ emailAddress, phoneNumber }: Recipient): string {
  if (emailAddress === undefined && phoneNumber === undefined) return 'the subscriber has neither a telephone number nor an e-mail address';
  const channels = [...(phoneNumber === undefined ? [] : ['SMS']), ...(emailAddress === undefined ? [] : ['e-mail'])].join(' and ');
  return `no gateway is configured for ${channels}, the only way to reach the subscriber`;
}

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
