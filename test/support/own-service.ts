import { readFileSync } from 'node:fs';
import { Agent, request, type AgentOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Description } from '../../src/quickstart/description.ts';
import { DaemonProcess, withOwnPorts, type Addresses } from './daemon-process.ts';
import { quickstartEnvironment, type QuickstartEnvironment } from './quickstart-environment.ts';

/** What the tests' services are asked to make most often. */
export function newCertificate(signatureActivationProtocol = 'PASSWORD', subscriber: object = {}): object {
  return {
    certificationRequestInfo: {
      signatureActivationProtocol,
      PKCS10: { attributes: { subscriber }, subject: { country: 'FR', commonName: 'Kill' } },
    },
    certificateFormat: 'CERTIFICATE',
  };
}

/** A connection of a client of a quickstart. */
export function agentOf({ clients, caCertificate }: Description, client: string, options: AgentOptions = {}): Agent {
  const files = clients[client];
  if (files === undefined) throw new Error(`no client ${client}`);
  const [ca, cert, key] = [caCertificate, files.certificate, files.key].map((file) => readFileSync(file));
  return new Agent({ keepAlive: true, ca, cert, key, ...options });
}

/** A service that belongs to one test: the quickstart's, on ports of its own, and a child that can be killed and started again at any moment. */
export class OwnService implements Addresses {
  readonly environment: QuickstartEnvironment;
  readonly description: Description;
  readonly baseUrl: string;
  readonly opsUrl: string;
  readonly daemon: DaemonProcess;
  readonly #agents = new Map<string, Agent>();

  private constructor(environment: QuickstartEnvironment, { baseUrl, opsUrl }: Addresses) {
    this.environment = environment;
    this.description = environment.description();
    this.baseUrl = baseUrl;
    this.opsUrl = opsUrl;
    this.daemon = new DaemonProcess(this.description.configFile, opsUrl);
  }

  /** `prepare` is called before the service starts; the configuration has its ports then. */
  static async start(prepare: (environment: QuickstartEnvironment) => void | Promise<void> = () => undefined): Promise<OwnService> {
    const environment = quickstartEnvironment();
    try {
      environment.prepare();
      const service = new OwnService(environment, withOwnPorts(environment));
      await prepare(environment);
      await service.daemon.start();
      return service;
    } catch (error) {
      environment.remove();
      throw error;
    }
  }

  /** Posts JSON as a client; tenant `other` has keys of P-256. Answers the text. Rejects where the connection breaks. */
  async post(
    operation: string,
    body: object,
    client = 'other',
    { root = '/sign', headers = {} }: { readonly root?: string; readonly headers?: Record<string, string> } = {},
  ): Promise<string> {
    const agent = this.#agents.get(client) ?? agentOf(this.description, client);
    this.#agents.set(client, agent);
    return new Promise((resolve, reject) => {
      const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } };
      const sent = request(`${this.baseUrl}${root}/${operation}`, options, (response) => {
        text(response).then(resolve, reject);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }

  async remove(): Promise<void> {
    for (const agent of this.#agents.values()) agent.destroy();
    await this.daemon.stop();
    this.environment.remove();
  }
}
