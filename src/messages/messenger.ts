import { auditSteps } from '../audit/audited-request.ts';
import type { MessagesConfig } from '../config/messages-config.ts';
import { Refusal } from '../result-codes.ts';
import { outcomeSteps } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { MessageMetrics } from '../telemetry/message-metrics.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { EmailGateway } from './email-gateway.ts';
import type { Attempt, Gateway, GatewayAnswer } from './gateway.ts';
import { SmsGateway } from './sms-gateway.ts';

/** Contract §7: what a message may have, in characters. */
export const messageMaxCharacters = { sms: 1600, email: 100_000 } as const;

/** Who is to be reached. The addresses have been checked: an E.164 number and a mailbox. */
export interface Recipient {
  readonly emailAddress?: string | undefined;
  readonly phoneNumber?: string | undefined;
}

export type Channel = keyof typeof messageMaxCharacters;

/** What the gateways answered, in the order in which they were asked (interface, sendMessage). */
export interface SenderResponses {
  readonly senderResponses: { readonly senderResponse: GatewayAnswer[] };
}

interface Way {
  readonly channel: Channel;
  readonly gateway: Gateway;
  readonly to: string;
}

/** What a messenger works with. */
export interface MessengerSurroundings {
  readonly store: Pick<StateStore, 'commit'>;
  readonly log: Logger;
  readonly metrics: MessageMetrics;
  /** Where gateways' words are searched. */
  readonly threads: WorkThreads;
}

/** Sends messages to subscribers: SMS first, and e-mail where the SMS gateway fails (contract §7). */
export class Messenger {
  readonly #gateways: Readonly<Record<Channel, Gateway | undefined>>;
  readonly #surroundings: MessengerSurroundings;

  /** @throws {ConfigError} where a gateway cannot work by its configuration */
  constructor(config: MessagesConfig | undefined, surroundings: MessengerSurroundings) {
    this.#gateways = {
      sms: config?.sms === undefined ? undefined : new SmsGateway(config.sms, surroundings.threads),
      email: config?.email === undefined ? undefined : new EmailGateway(config.email, surroundings.threads),
    };
    this.#surroundings = surroundings;
  }

  /**
   * Hands a text to the first gateway that takes it. A text that is too long for an SMS goes by e-mail at once.
   * @throws {Refusal} FIELD_INVALID where only SMS is left and the text is too long; MESSAGE_NOT_SENT with the answers of the gateways
   */
  async send(recipient: Recipient, text: string): Promise<SenderResponses> {
    const { log, metrics } = this.#surroundings;
    const attempts: Attempt[] = [];
    const lines = text.replaceAll(/\r\n?/g, '\n');
    for (const { channel, gateway, to } of this.#ways(recipient, lines)) {
      const started = performance.now();
      const attempt = await gateway.send(to, lines);
      metrics.asked(channel, attempt.accepted, performance.now() - started);
      attempts.push(attempt);
      if (attempt.accepted) return answerOf(attempts);
      log.warn('a gateway did not take a message', { channel, url: attempt.answer.url, outcome: attempt.outcome });
    }
    throw new Refusal('MESSAGE_NOT_SENT', {
      message: attempts.length > 1 ? 'no gateway took the message' : 'the gateway did not take the message',
      answer: answerOf(attempts),
    });
  }

  /** Keeps that a message was sent, and the outcome of its request, in one commit. */
  async settle(answer: SenderResponses): Promise<void> {
    const steps = [...auditSteps('a message was sent'), ...(await outcomeSteps({ answer }))];
    if (steps.length > 0) await this.#surroundings.store.commit(steps);
  }

  /** Connections are closed; messages on their way get to their end. */
  close(): void {
    for (const gateway of Object.values(this.#gateways)) gateway?.close();
  }

  #ways({ emailAddress, phoneNumber }: Recipient, text: string): Way[] {
    const ways = (['sms', 'email'] as const).flatMap((channel): Way[] => {
      const [to, gateway] = [channel === 'sms' ? phoneNumber : emailAddress, this.#gateways[channel]];
      return to === undefined || gateway === undefined ? [] : [{ channel, gateway, to }];
    });
    if (ways.length === 0) throw new Refusal('MESSAGE_NOT_SENT', { message: whyNot({ emailAddress, phoneNumber }) });
    const characters = Array.from(text).length;
    const fitting = ways.filter(({ channel }) => characters <= messageMaxCharacters[channel]);
    const [way] = ways;
    if (fitting.length === 0 && way !== undefined) {
      const [name, max] = [way.channel === 'sms' ? 'an SMS' : 'an e-mail', messageMaxCharacters[way.channel]];
      throw new Refusal('FIELD_INVALID', { at: '/message', message: `${name} has at most ${max} characters, and there are ${characters}` });
    }
    return fitting;
  }
}

function answerOf(attempts: readonly Attempt[]): SenderResponses {
  return { senderResponses: { senderResponse: attempts.map(({ answer }) => answer) } };
}

function whyNot({ emailAddress, phoneNumber }: Recipient): string {
  if (emailAddress === undefined && phoneNumber === undefined)
    return 'this subscriber has neither a telephone number nor an e-mail address';
  const lacking = [...(phoneNumber === undefined ? [] : ['SMS']), ...(emailAddress === undefined ? [] : ['e-mail'])].join(' and ');
  return `no gateway for ${lacking} is configured, and the subscriber is to be reached by nothing else`;
}
