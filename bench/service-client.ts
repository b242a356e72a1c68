import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Client, Quickstart } from './quickstart-description.ts';

const Reference = z.object({ reference: z.string(), password: z.string() });
/** A key of the service with its activation data. */
export type Reference = z.output<typeof Reference>;

const operationTimeout = 30_000;

/** Client of the service. */
export class ServiceClient {
  readonly #quickstart: Quickstart;
  readonly client: Client;

  constructor(quickstart: Quickstart, client: Client) {
    this.#quickstart = quickstart;
    this.client = client;
  }

  urlOf(operation: string): URL {
    return new URL(`${this.#quickstart.signRoot}/${operation}`, this.#quickstart.baseUrl);
  }

  /** Creates a key of the type in the client's profile. */
  async createKey(): Promise<Reference> {
    const answer = await this.#post('pki/createCertificate', {
      certificationRequestInfo: {
        signatureActivationProtocol: 'PASSWORD',
        PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Bench' } },
      },
      certificateFormat: 'CERTIFICATE',
    });
    const parsed = z.object({ keyReference: Reference }).safeParse(JSON.parse(answer));
    if (!parsed.success) throw new Error(`createCertificate returned no key: ${answer.slice(0, 500)}`);
    return parsed.data.keyReference;
  }

  async removeKey(keyReference: Reference): Promise<void> {
    await this.#post('pki/removeKey', { keyReference });
  }

  /** Returns the length of one answer of the operation. */
  async answerBytes(operation: string, body: object): Promise<number> {
    return Buffer.byteLength(await this.#post(operation, body));
  }

  /** Returns an answer of the operation. */
  async answer(operation: string, body: object): Promise<unknown> {
    return JSON.parse(await this.#post(operation, body));
  }

  /** @throws {Error} unless the status is 200 */
  async #post(operation: string, body: object): Promise<string> {
    const { resolve, reject, promise } = Promise.withResolvers<string>();
    const options = {
      method: 'POST',
      cert: readFileSync(this.client.certificate),
      key: readFileSync(this.client.key),
      ca: readFileSync(this.#quickstart.caCertificate),
      headers: { 'Content-Type': 'application/json' },
      signal: AbortSignal.timeout(operationTimeout),
      agent: false as const,
    };
    const sent = request(this.urlOf(operation), options, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`${operation}: status ${response.statusCode}: ${answer.slice(0, 500)}`));
      }, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
    return promise;
  }
}
