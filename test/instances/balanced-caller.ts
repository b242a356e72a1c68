import { type Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { agentOf } from '../support/own-service.ts';
import type { QuickstartEnvironment } from '../support/quickstart-environment.ts';

const Body = z.looseObject({
  keyReference: z.object({ reference: z.string().optional(), password: z.string().optional() }).optional(),
  certificate: z.string().optional(),
  password: z.string().optional(),
  state: z.string().optional(),
});

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** Empty where it is no JSON. */
  readonly body: z.output<typeof Body>;
  readonly text: string;
}

/** The outcome in short: `0/0`, `2/202`, or the status. */
export function codeOf({ status, text: given }: Pick<Answer, 'status' | 'text'>): string {
  if (status !== 200) return String(status);
  const [, major, minor] = /"(?:resultMajor|majorCode)":(\d+),"(?:resultMinor|minorCode)":(\d+)/.exec(given) ?? [];
  return major === undefined ? '0/0' : `${major}/${minor ?? ''}`;
}

/** A client of tenant `other` unless told otherwise. A new connection for each request: the balancer takes instances in turn. */
export class BalancedCaller {
  readonly #agent: Agent;
  /** Requests that had no answer, or 503. */
  retries = 0;

  constructor(environment: QuickstartEnvironment, { client = 'other', keepAlive = false } = {}) {
    this.#agent = agentOf(environment.description(), client, { keepAlive });
  }

  /** Rejects where the connection breaks. */
  async ask(baseUrl: string, operation: string, body: object, idempotencyKey?: string): Promise<Answer> {
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${baseUrl}/sign/${operation}`, { agent: this.#agent, method: 'POST', headers }, (response) => {
        text(response)
          .then((given) => {
            resolve({
              status: response.statusCode ?? 0,
              retryAfter: response.headers['retry-after'],
              body: Body.parse(given.startsWith('{') ? JSON.parse(given) : {}),
              text: given,
            });
          })
          .catch(reject);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }

  /** Asks with the same Idempotency-Key until there is an answer, as every client may. */
  async askUntilAnswered(baseUrl: string, operation: string, body: object, idempotencyKey: string): Promise<Answer> {
    for (;;) {
      const answer = await this.ask(baseUrl, operation, body, idempotencyKey).catch(() => undefined);
      if (answer !== undefined && answer.status !== 503) return answer;
      this.retries += 1;
      await delay(100);
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
