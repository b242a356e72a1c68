import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Client, Quickstart } from './quickstart-description.ts';

const Answer = z.looseObject({
  result: z.looseObject({
    majorCode: z.int().optional(),
    resultMajor: z.int().optional(),
    minorCode: z.int().optional(),
    resultMinor: z.int().optional(),
  }),
  keyReference: z.record(z.string(), z.string()).optional(),
  password: z.string().optional(),
});
export type Answer = z.output<typeof Answer>;
export type KeyReference = Readonly<Record<string, string>>;

export type Protocol = 'PASSWORD' | 'OTP' | 'SINGLE_USE';

const document = Buffer.from('bench').toString('base64');
const digest = { id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: 'n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=' };

/** Client with persistent connections, for figures in which TLS handshakes would dominate. */
export class KeepAliveClient {
  readonly #quickstart: Quickstart;
  readonly #agent: Agent;

  constructor(quickstart: Quickstart, client: Client, connections: number) {
    this.#quickstart = quickstart;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: connections,
      ca: readFileSync(quickstart.caCertificate),
      cert: readFileSync(client.certificate),
      key: readFileSync(client.key),
    });
  }

  /** `headers`: further ones, such as Idempotency-Key. */
  async call(operation: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return Answer.parse(await this.post(`${this.#quickstart.signRoot}/${operation}`, body, headers));
  }

  /** Returns the answer at a path, whatever its status. */
  async post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const { resolve, reject, promise } = Promise.withResolvers<string>();
    const url = new URL(path, this.#quickstart.baseUrl);
    const options = { method: 'POST', agent: this.#agent, headers: { 'Content-Type': 'application/json', ...headers } };
    const sent = request(url, options, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
    return JSON.parse(await promise);
  }

  async create(signatureActivationProtocol: Protocol, more: object = {}): Promise<KeyReference> {
    const { keyReference } = await this.call('pki/createCertificate', {
      certificationRequestInfo: {
        signatureActivationProtocol,
        PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Bench' } },
        ...more,
      },
      certificateFormat: 'CERTIFICATE',
    });
    if (keyReference === undefined) throw new Error('createCertificate returned no key');
    return keyReference;
  }

  async otp({ reference }: KeyReference): Promise<string> {
    const { password } = await this.call('pki/sendOTP', { action: 'SIGN', keyReference: reference, signerData: { digest: [digest] } });
    if (password === undefined) throw new Error('sendOTP returned no password');
    return password;
  }

  /** Minor code of the result. */
  async sign(keyReference: KeyReference, bound = false): Promise<number> {
    const source = bound
      ? { digest: { digestAlgOID: digest.digestAlgOID, digestValue: digest.digestValue } }
      : { base64Data: { base64Value: document } };
    const { result } = await this.call('signature/sign', {
      keyReference,
      parameters: { rawSignature: {} },
      inputDocuments: [{ ID: 'd', ...source }],
    });
    return result.resultMinor ?? -1;
  }

  close(): void {
    this.#agent.destroy();
  }
}
