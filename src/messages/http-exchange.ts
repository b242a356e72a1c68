import { Agent as PlainAgent, request as plainRequest, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { connectionFault, connectionFaultForLog } from './gateway.ts';
import type { HttpAnswer } from './sms-answer.ts';
import type { SmsRequest } from './sms-request.ts';

/**
 * Thrown if an exchange fails. The message is for the caller, `forLog` for the operator; neither
 * contains what was sent.
 */
export class ExchangeFailed extends Error {
  readonly forLog: string;

  constructor(message: string, { cause, forLog = 'no answer' }: { readonly cause?: unknown; readonly forLog?: string } = {}) {
    super(message, { cause });
    this.forLog = forLog;
  }
}

export interface ExchangeOptions {
  /** PEM; absent: the authorities that Node trusts. */
  readonly certificateAuthority: string | undefined;
  readonly totalTimeoutSeconds: number;
  readonly answerMaxBytes: number;
  readonly connectionsMax: number;
}

/**
 * Sends HTTP requests to one gateway, over TLS 1.2 or 1.3 with certificate verification if its URL
 * is https. Redirects are treated as ordinary responses. Each request uses a new connection: a
 * reused one could end during a request, leaving it unknown whether the message was sent.
 */
export class HttpExchange {
  readonly #options: ExchangeOptions;
  readonly #plain: PlainAgent;
  readonly #tls: TlsAgent;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    const settings = { keepAlive: false, maxSockets: options.connectionsMax };
    this.#plain = new PlainAgent(settings);
    this.#tls = new TlsAgent({ ...settings, ca: options.certificateAuthority, minVersion: 'TLSv1.2' });
  }

  /** @throws {ExchangeFailed} */
  async exchange({ method, url, headers, body }: SmsRequest, basic: string | undefined): Promise<HttpAnswer> {
    const { totalTimeoutSeconds } = this.#options;
    const bytes = body === undefined ? undefined : Buffer.from(body, 'utf8');
    const deadline = AbortSignal.timeout(1000 * totalTimeoutSeconds);
    try {
      return await new Promise<HttpAnswer>((resolve, reject) => {
        const options = {
          method,
          headers: {
            'Accept-Encoding': 'identity',
            ...headers,
            ...(bytes === undefined ? {} : { 'Content-Length': bytes.length }),
          },
          ...(basic === undefined ? {} : { auth: basic }),
          signal: deadline,
        };
        let isAnswered = false;
        const take = (response: IncomingMessage): void => {
          isAnswered = true;
          this.#read(response).then(resolve, reject);
        };
        const sent =
          url.protocol === 'https:'
            ? tlsRequest(url, { ...options, agent: this.#tls }, take)
            : plainRequest(url, { ...options, agent: this.#plain }, take);
        sent.once('error', reject);
        // Without this listener, Node silently closes the connection on a protocol upgrade.
        sent.once('upgrade', ({ statusCode = 0 }, socket) => {
          socket.destroy();
          reject(new ExchangeFailed(`the gateway answered with status ${statusCode}`, { forLog: `HTTP ${statusCode}` }));
        });
        sent.once('close', () => {
          // Once a response has begun, reading it determines the result.
          if (!isAnswered) reject(new ExchangeFailed('the connection ended without a response'));
        });
        sent.end(bytes);
      });
    } catch (error) {
      if (deadline.aborted) throw new ExchangeFailed(`no answer within ${totalTimeoutSeconds} s`, { cause: error });
      if (error instanceof ExchangeFailed) throw error;
      throw new ExchangeFailed(connectionFault(error), { cause: error, forLog: connectionFaultForLog(error) });
    }
  }

  async #read(response: IncomingMessage): Promise<HttpAnswer> {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of response) {
      // Node's HTTP parser emits buffers unless an encoding is set.
      const bytes = chunk as Buffer;
      length += bytes.length;
      if (length > this.#options.answerMaxBytes) {
        response.destroy();
        throw new ExchangeFailed(`the response is longer than ${this.#options.answerMaxBytes} bytes`);
      }
      chunks.push(bytes);
    }
    return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') };
  }
}
