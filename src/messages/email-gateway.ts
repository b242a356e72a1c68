import { randomUUID } from 'node:crypto';
import { createTransport } from 'nodemailer';
import type { EmailConfig } from '../config/email-config.ts';
import { readSecret } from '../config/secret-reference.ts';
import { boundedContext } from '../service/bounded-context.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { readAuthority, connectionFault, connectionFaultForLog, type Attempt, type Gateway } from './gateway.ts';
import { matchesOf } from './patterns.ts';
import { formsOf, printable } from './printable.ts';

/** Unused connections close by themselves, including those of an earlier configuration. */
const idleSeconds = 60;

/** Sends e-mail through one SMTP server, over reused connections. */
export class EmailGateway implements Gateway {
  readonly #config: EmailConfig;
  readonly #threads: WorkThreads;
  readonly #transport: ReturnType<typeof poolTo>;
  readonly #url: string;
  readonly #hidden: readonly string[];

  /** @throws {ConfigError} if the password or the authorities cannot be read */
  constructor(config: EmailConfig, threads: WorkThreads) {
    this.#threads = threads;
    const password = config.password === undefined ? undefined : readSecret(config.password);
    this.#config = config;
    this.#transport = poolTo(config, password);
    const host = config.host.includes(':') ? `[${config.host}]` : config.host;
    this.#url = `${config.security === 'TLS' ? 'smtps' : 'smtp'}://${host}:${config.port}`;
    this.#hidden = password === undefined ? [] : [...formsOf(password), ...saslForms(config.user ?? '', password)];
  }

  async send(to: string, text: string): Promise<Attempt> {
    const { from, fromName, subject, totalTimeoutSeconds } = this.#config;
    const id = randomUUID();
    const deadline = AbortSignal.timeout(1000 * totalTimeoutSeconds);
    try {
      const info: unknown = await this.#transport.sendMail({
        envelope: { from, to: [to] },
        from: { name: fromName ?? '', address: from },
        to: { name: '', address: to },
        subject,
        text,
        messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
        // RFC 3834: prevents automatic replies such as vacation notices.
        headers: { 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
        signal: deadline,
      });
      const response = responseIn(info);
      return await this.#attempt(id, true, { code: codeIn(response), response, outcome: undefined });
    } catch (error) {
      const fault = faultOf(error);
      const late = deadline.aborted ? `no answer within ${totalTimeoutSeconds} s` : undefined;
      return this.#attempt(id, false, late === undefined ? fault : { code: undefined, response: late, outcome: undefined });
    }
  }

  close(): void {
    this.#transport.close();
  }

  async #attempt(id: string, accepted: boolean, { code, response, outcome }: Reply): Promise<Attempt> {
    const freeText = printable(response, this.#hidden);
    const { messageIdPattern } = this.#config;
    const matches = accepted ? await matchesOf([messageIdPattern], response, this.#threads) : new Map<string, string>();
    const messageID = printable(matches.get(messageIdPattern) ?? '', this.#hidden);
    return {
      accepted,
      answer: {
        date: Date.now(),
        ...(code === undefined ? {} : { responseCode: String(code) }),
        url: this.#url,
        ...(messageID === undefined ? {} : { messageID }),
        ...(freeText === undefined ? {} : { freeText }),
        ID: id,
      },
      outcome: code === undefined ? (printable(outcome ?? '', this.#hidden) ?? 'no answer') : `SMTP ${code}`,
    };
  }
}

interface Reply {
  readonly code: number | undefined;
  readonly response: string;
  /** For the log, if there was no reply. */
  readonly outcome: string | undefined;
}

/** Returns the server's reply, or the error if there was none. */
function faultOf(error: unknown): Reply {
  const { response, responseCode, code } =
    error instanceof Error ? (error as Error & { response?: unknown; responseCode?: unknown; code?: unknown }) : {};
  const status = typeof responseCode === 'number' && responseCode >= 200 && responseCode <= 599 ? responseCode : undefined;
  // Such a reply may repeat what was sent, in any form.
  if (code === 'EAUTH') return { code: status, response: 'authentication at the gateway failed', outcome: undefined };
  if (typeof response === 'string' && response !== '') return { code: status, response, outcome: undefined };
  return { code: status, response: connectionFault(error), outcome: connectionFaultForLog(error) };
}

/** Returns the wire forms of user and password (RFC 4616, AUTH LOGIN), with and without padding. */
function saslForms(user: string, password: string): string[] {
  return [password, `\0${user}\0${password}`, `${user}\0${user}\0${password}`].flatMap((text) => {
    const base64 = Buffer.from(text, 'utf8').toString('base64');
    return [base64, base64.replace(/=+$/, '')];
  });
}

/** Returns the server's last reply. */
function responseIn(info: unknown): string {
  return typeof info === 'object' && info !== null && 'response' in info && typeof info.response === 'string' ? info.response : '';
}

function codeIn(response: string): number | undefined {
  const digits = /^[2-5]\d\d/.exec(response)?.[0];
  return digits === undefined ? undefined : Number(digits);
}

function poolTo(config: EmailConfig, password: string | undefined): ReturnType<typeof createTransport> {
  const { host, port, security, user, certificateAuthority, connectTimeoutSeconds, replyTimeoutSeconds, connectionsMax } = config;
  return createTransport({
    pool: true,
    host,
    port,
    secure: security === 'TLS',
    requireTLS: security === 'STARTTLS',
    ignoreTLS: security === 'NONE',
    ...(user === undefined || password === undefined ? {} : { auth: { user, pass: password } }),
    tls: {
      secureContext: boundedContext({
        minVersion: 'TLSv1.2',
        ...(certificateAuthority === undefined ? {} : { ca: readAuthority(certificateAuthority, 'messages.email') }),
      }),
    },
    connectionTimeout: 1000 * connectTimeoutSeconds,
    greetingTimeout: 1000 * connectTimeoutSeconds,
    dnsTimeout: 1000 * connectTimeoutSeconds,
    socketTimeout: 1000 * replyTimeoutSeconds,
    maxConnections: connectionsMax,
    maxResponseSize: 65_536,
    // If a connection ends while a message is being sent, especially a reused one, the server may
    // not have received the message.
    maxRequeues: 1,
    idleTimeout: 1000 * idleSeconds,
  });
}
