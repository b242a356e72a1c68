import { randomUUID } from 'node:crypto';
import { ConfigError } from '../config/config-error.ts';
import { readSecret } from '../config/secret-reference.ts';
import type { SmsConfig } from '../config/sms-config.ts';
import { FetchFailed, OutgoingHttp } from '../outgoing/outgoing-http.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { connectionFault, connectionFaultForLog, readAuthority, type Attempt, type Gateway } from './gateway.ts';
import { formsOf, printable } from './printable.ts';
import { readSmsAnswer, type HttpAnswer } from './sms-answer.ts';
import { SmsRequestTemplate, type SmsRequest } from './sms-request.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

const maxIdentifierCharacters = 128;

/** Sends SMS through an HTTP gateway. */
export class SmsGateway implements Gateway {
  readonly #config: SmsConfig;
  readonly #threads: WorkThreads;
  readonly #template: SmsRequestTemplate;
  readonly #http: OutgoingHttp;
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
    const { basicAuthentication: basic, certificateAuthority, totalTimeoutSeconds: timeoutSeconds, connectionsMax } = config;
    this.#config = config;
    this.#template = new SmsRequestTemplate(config);
    const authority = certificateAuthority === undefined ? undefined : readAuthority(certificateAuthority, 'messages.sms');
    this.#http = OutgoingHttp.toConfiguredServer({ timeoutSeconds, connectionsMax, certificateAuthority: authority });
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
      return await this.#attempt(id, await this.#exchange(this.#template.requestFor(this.#values(to, text, id))));
    } catch (error) {
      if (!(error instanceof FetchFailed)) throw error;
      const fault = this.#faultOf(error);
      const freeText = printable(fault.text, this.#hidden);
      return {
        accepted: false,
        answer: { date: Date.now(), url: this.#template.shownUrl, ID: id, ...(freeText === undefined ? {} : { freeText }) },
        outcome: printable(fault.forLog, this.#hidden) ?? 'no answer',
      };
    }
  }

  close(): void {
    // Every exchange uses its own connection, which ends with it.
  }

  /** An answer with any status is the gateway's answer, a redirect too. @throws {FetchFailed} */
  async #exchange({ method, url, headers, body }: SmsRequest): Promise<HttpAnswer> {
    const answer = await this.#http.fetch({
      ...{ method, url, headers, credentials: this.#basic, takesAnyStatus: true, answerMaxBytes: this.#config.answerMaxBytes },
      ...(body === undefined ? {} : { body: Buffer.from(body, 'utf8') }),
    });
    return { status: answer.status, body: Buffer.from(answer.body).toString('utf8') };
  }

  /** Returns why there is no answer: to a caller, and to the operator. */
  #faultOf({ message, cause, status, isLate, wasSent }: FetchFailed): { readonly text: string; readonly forLog: string } {
    if (isLate) return { text: `no answer within ${this.#config.totalTimeoutSeconds} s`, forLog: wasSent ? 'no answer' : message };
    if (status !== undefined) return { text: `the gateway answered with status ${status}`, forLog: `HTTP ${status}` };
    if (cause === undefined) return { text: message, forLog: 'no answer' };
    return { text: connectionFault(cause), forLog: connectionFaultForLog(cause) };
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
