import { request, type Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import { agentOf } from '../support/own-service.ts';
import type { QuickstartEnvironment } from '../support/quickstart-environment.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

export const Created = z.object({
  result: z.object({ majorCode: z.literal(0) }),
  keyReference: z.object({ reference: z.string(), password: z.string() }),
});

export const signing = (keyReference: object): object => ({
  keyReference,
  parameters: { rawSignature: {} },
  inputDocuments: [{ ID: 'd', base64Data: { base64Value: 'ZG9jdW1lbnQ=' } }],
});

const retryMs = 20;

/** A caller that goes on asking until it is answered: with the same Idempotency-Key, so it may. Tenant `other`: its keys are P-256. */
export class PersistentCaller {
  readonly #agent: Agent;
  /** Requests that got no answer, or 503. */
  retries = 0;

  constructor(environment: QuickstartEnvironment) {
    this.#agent = agentOf(environment.description(), 'other');
  }

  /** The answer's text. `baseUrl` is asked for before each try. */
  async ask(baseUrl: () => string, operation: string, body: object, idempotencyKey?: string): Promise<string> {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    for (;;) {
      const answer = await this.#post(baseUrl(), operation, body, headers).catch(() => undefined);
      if (answer?.status === 200) return answer.text;
      if (answer !== undefined) expect(answer).toMatchObject({ status: 503 });
      this.retries += 1;
      await delay(retryMs);
    }
  }

  /** The answer's text, undefined where none came. */
  async once(baseUrl: () => string, operation: string, body: object): Promise<string | undefined> {
    const answer = await this.#post(baseUrl(), operation, body, {}).catch(() => undefined);
    return answer?.status === 200 ? answer.text : undefined;
  }

  async #post(
    baseUrl: string,
    operation: string,
    body: object,
    headers: Record<string, string>,
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const options = { agent: this.#agent, method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } };
      const sent = request(`${baseUrl}/sign/${operation}`, options, (response) => {
        text(response).then((got) => {
          resolve({ status: response.statusCode ?? 0, text: got });
        }, reject);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }
}

/** Callers' private keys on the token. */
export function callersKeysOnToken({ directory }: QuickstartEnvironment): string[] {
  return privateKeysOnToken(directory)
    .filter((id) => id.startsWith('43'))
    .toSorted();
}
