import { randomUUID } from 'node:crypto';
import { ConfigError } from '../config/config.ts';
import { readSecret } from '../config/secret-reference.ts';
import type { SmsConfig } from '../config/sms-config.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { readAuthority, type Attempt, type Gateway } from './gateway.ts';
import { ExchangeFailed, HttpExchange } from './http-exchange.ts';
import { formsOf, printable } from './printable.ts';
import { readSmsAnswer, type HttpAnswer } from './sms-answer.ts';
import { SmsRequestTemplate } from './sms-request.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

const maxIdentifierCharacters = 128;

/** Sends SMS through an HTTP gateway. */
export class SmsGateway implements Gateway {
  readonly #config: SmsConfig;
  readonly #threads: WorkThreads;
  readonly #template: SmsRequestTemplate;
  readonly #exchange: HttpExchange;
  readonly #secrets: ReadonlyMap<string, string>;
  readonly #basic: string | undefined;
  /** Strings to be removed from a gateway's text. */
  readonly #hidden: readonly string[];

  /**
   * @throws {ConfigError} if a secret or the authorities cannot be read, or a secret is not allowed
   * in its place in the template
   */
  constructor(config: SmsConfig, threads: WorkThreads) {
    this.#threads = threads;
    const { basicAuthentication: basic, certificateAuthority } = config;
    this.#config = config;
    this.#template = new SmsRequestTemplate(config);
    this.#exchange = new HttpExchange({
      ...config,
      certificateAuthority: certificateAuthority === undefined ? undefined : readAuthority(certificateAuthority, 'messages.sms'),
    });
    this.#secrets = new Map(Object.entries(config.secrets).map(([name, reference]) => [`secret.${name}`, readSecret(reference)]));
    this.#basic = basic === undefined ? undefined : `${basic.user}:${readSecret(basic.password)}`;
    this.#hidden = [
      ...[...this.#secrets.values()].flatMap(formsOf),
      ...(this.#basic === undefined ? [] : [Buffer.from(this.#basic, 'utf8').toString('base64'), ...formsOf(passwordIn(this.#basic))]),
    ];
    try {
      this.#template.requestFor(this.#values('+33600000000', 'text', randomUUID()));
    } catch (error) {
      throw new ConfigError(`messages.sms: a secret is not allowed in its place: ${reasonOf(error)}`);
    }
  }

  async send(to: string, text: string): Promise<Attempt> {
    const id = randomUUID();
    try {
      const answer = await this.#exchange.exchange(this.#template.requestFor(this.#values(to, text, id)), this.#basic);
      return await this.#attempt(id, answer);
    } catch (error) {
      if (!(error instanceof ExchangeFailed)) throw error;
      const freeText = printable(error.message, this.#hidden);
      return {
        accepted: false,
        answer: { date: Date.now(), url: this.#template.shownUrl, ID: id, ...(freeText === undefined ? {} : { freeText }) },
        outcome: printable(error.forLog, this.#hidden) ?? 'no answer',
      };
    }
  }

  close(): void {
    // Every exchange uses its own connection, which ends with it.
  }

  async #attempt(id: string, answer: HttpAnswer): Promise<Attempt> {
    const { accepted, code, messageId, text } = await readSmsAnswer(answer, this.#config.answer, this.#threads);
    const shown = (value: string | undefined, max?: number): string | undefined =>
      value === undefined ? undefined : printable(value, this.#hidden, max);
    const [responseCode, messageID, freeText] = [
      shown(code, maxIdentifierCharacters),
      shown(messageId, maxIdentifierCharacters),
      shown(text),
    ];
    return {
      accepted,
      answer: {
        date: Date.now(),
        ...(responseCode === undefined ? {} : { responseCode }),
        url: this.#template.shownUrl,
        ...(messageID === undefined ? {} : { messageID }),
        ...(freeText === undefined ? {} : { freeText }),
        ID: id,
      },
      outcome: `HTTP ${answer.status}`,
    };
  }

  #values(to: string, text: string, id: string): ReadonlyMap<string, string> {
    return new Map([...this.#secrets, ['phoneNumber', to], ['phoneDigits', to.replace(/^\+/, '')], ['text', text], ['id', id]]);
  }
}

function passwordIn(basic: string): string {
  return basic.slice(basic.indexOf(':') + 1);
}
