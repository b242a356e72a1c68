import { randomUUID } from 'node:crypto';
import { request, type Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { newCertificate } from '../support/own-service.ts';

/** What its owner knows of a key. An answer that never came may stand for either outcome. */
export interface OwnedKey {
  readonly reference: string;
  readonly password: string;
  /** Failed attempts since the last success. */
  failures: { least: number; most: number };
  removal: 'none' | 'asked' | 'acknowledged';
}

const Result = z.object({ majorCode: z.number().optional(), resultMajor: z.number().optional(), minorCode: z.number().optional() });
const Answer = z.object({ result: Result, keyReference: z.object({ reference: z.string(), password: z.string() }).optional() });
type Answer = z.output<typeof Answer>;

/** Few enough for no lock. */
const maxFailures = 4;

/** One caller with keys of its own, one request at a time: so it knows what every one of its keys must be. */
export class KeyOwner {
  readonly keys: OwnedKey[] = [];
  /** Identifiers of the requests that were answered. */
  readonly acknowledged: string[] = [];
  readonly #baseUrl: string;
  readonly #agent: Agent;
  #step = 0;

  constructor(baseUrl: string, agent: Agent) {
    this.#baseUrl = baseUrl;
    this.#agent = agent;
  }

  /** One request that changes something. False where no answer came. */
  async act(): Promise<boolean> {
    this.#step += 1;
    const key = this.keys.findLast(({ removal }) => removal === 'none');
    if (key === undefined) return this.#create();
    switch (this.#step % 6) {
      case 0:
        return this.#create();
      case 1:
        return this.#remove(key);
      case 2:
        return this.#check(key, key.password);
      default:
        return key.failures.most < maxFailures ? this.#check(key, 'wrong') : this.#check(key, key.password);
    }
  }

  async #create(): Promise<boolean> {
    const answer = await this.#post('pki/createCertificate', newCertificate());
    if (answer?.keyReference === undefined) return answer !== undefined;
    this.keys.push({ ...answer.keyReference, failures: { least: 0, most: 0 }, removal: 'none' });
    return true;
  }

  async #check(key: OwnedKey, password: string): Promise<boolean> {
    const isRight = password === key.password;
    const answer = await this.#post('pki/checkKey', { keyReference: { reference: key.reference, password } });
    if (answer === undefined) {
      if (isRight) key.failures.least = 0;
      else key.failures.most += 1;
      return false;
    }
    if (isRight) key.failures = { least: 0, most: 0 };
    else key.failures = { least: key.failures.least + 1, most: key.failures.most + 1 };
    return true;
  }

  async #remove(key: OwnedKey): Promise<boolean> {
    key.removal = 'asked';
    const answer = await this.#post('pki/removeKey', { keyReference: { reference: key.reference, password: key.password } });
    if (answer?.result.majorCode === 0) {
      key.removal = 'acknowledged';
      key.failures = { least: 0, most: 0 };
    } else {
      key.failures.least = 0;
    }
    return answer !== undefined;
  }

  /** Undefined where no answer came, or none of the service's. */
  async #post(operation: string, body: object): Promise<Answer | undefined> {
    const requestID = randomUUID();
    try {
      const answered = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
        const sent = request(`${this.#baseUrl}/sign/${operation}`, {
          agent: this.#agent,
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
        });
        sent.on('response', (response) => {
          text(response).then((answer) => {
            resolve({ status: response.statusCode, body: answer });
          }, reject);
        });
        sent.on('error', reject);
        sent.end(JSON.stringify({ ...body, requestID }));
      });
      if (answered.status !== 200) return undefined;
      const answer = Answer.parse(JSON.parse(answered.body));
      this.acknowledged.push(requestID);
      return answer;
    } catch {
      return undefined;
    }
  }
}
