import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { quickstartEnvironment, type QuickstartEnvironment } from '../support/quickstart-environment.ts';

const Answer = z.object({
  result: z.object({ resultMajor: z.number().optional(), majorCode: z.number().optional() }).loose(),
  keyReference: z.object({ reference: z.string(), password: z.string() }).optional(),
  certificate: z.string().optional(),
  evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.string() }) }) }).optional(),
});
type Answer = z.output<typeof Answer>;
type KeyReference = NonNullable<Answer['keyReference']>;

/** The tenants' clients, and the key types that their profiles get in turn. */
const clients = { app: ['RSA-2048', 'RSA-4096'], other: ['P-256'], p384: ['P-384', 'P-521'] } as const;
export type KeyType = (typeof clients)[keyof typeof clients][number];

/** A document to sign; its ID is its place in the list. */
interface Input {
  readonly bytes: Buffer;
  readonly fileName?: string;
  /** Of an encrypted PDF. */
  readonly password?: string | undefined;
}

/** A service of its own, with a key of each type. */
export class SigningService {
  /** Paths of the roots of its signers and time-stamps. */
  readonly trust: readonly string[];
  readonly #environment: QuickstartEnvironment;
  readonly #keys: ReadonlyMap<KeyType, KeyReference>;

  private constructor(environment: QuickstartEnvironment, keys: ReadonlyMap<KeyType, KeyReference>, trust: readonly string[]) {
    this.#environment = environment;
    this.#keys = keys;
    this.trust = trust;
  }

  /** Starts one. Its roots, its issuing authority and the signers' certificates are written into the directory. */
  static async start(directory: string): Promise<SigningService> {
    const environment = quickstartEnvironment();
    try {
      environment.start();
      const keys = new Map<KeyType, KeyReference>();
      for (const turn of [0, 1]) {
        environment.stop();
        configure(environment, turn);
        environment.start();
        for (const [client, types] of Object.entries(clients)) {
          const type = types[turn];
          if (type === undefined) continue;
          const { key, certificate } = await newKey(environment, client);
          writeFileSync(join(directory, `certificate-${type}.der`), certificate);
          keys.set(type, key);
        }
      }
      const trust = environment.description().trustAnchors.map((file, index) => {
        const copy = join(directory, `root-${index}.pem`);
        writeFileSync(copy, readFileSync(file));
        return copy;
      });
      writeFileSync(join(directory, 'issuing.pem'), readFileSync(join(environment.directory, 'pki', 'issuing.pem')));
      return new SigningService(environment, keys, trust);
    } catch (error) {
      environment.remove();
      throw error;
    }
  }

  /** Signs in one step. A refusal is an error. */
  async sign(keyType: KeyType, parameters: object, documents: readonly Input[]): Promise<Buffer<ArrayBuffer>> {
    const inputDocuments = documents.map(({ bytes, fileName, password }, index) => ({
      ID: `document-${index}`,
      base64Data: { base64Value: bytes.toString('base64') },
      ...(fileName === undefined ? {} : { fileName }),
      ...(password === undefined ? {} : { password }),
    }));
    const client = Object.entries(clients).find(([, types]) => types.some((type) => type === keyType))?.[0] ?? '';
    const body = { keyReference: this.#keys.get(keyType), parameters, inputDocuments };
    const { result, evidenceObject } = await call(this.#environment, client, 'signature/sign', body);
    if (evidenceObject === undefined) throw new Error(`${JSON.stringify(parameters)}: ${JSON.stringify(result)}`);
    return Buffer.from(evidenceObject.document.base64Data.base64Value, 'base64');
  }

  remove(): void {
    this.#environment.remove();
  }
}

/** The profiles' key types of this turn; no keys are made ahead. */
function configure(environment: QuickstartEnvironment, turn: number): void {
  const { configFile } = environment.description();
  let config = readFileSync(configFile, 'utf8');
  for (const [before, after] of Object.values(clients)) if (turn === 1 && after !== undefined) config = config.replaceAll(before, after);
  writeFileSync(configFile, config);
  if (turn === 0) appendFileSync(configFile, 'keyPool: { keys: 0 }\n');
}

async function newKey(
  environment: QuickstartEnvironment,
  client: string,
): Promise<{ readonly key: KeyReference; readonly certificate: Buffer }> {
  const answer = await call(environment, client, 'pki/createCertificate', {
    certificationRequestInfo: {
      signatureActivationProtocol: 'PASSWORD',
      PKCS10: {
        attributes: {
          subscriber: {},
          extensionRequest: { subjectAlternativeName: { generalName: [{ RFC822Name: 'zoe@example.org' }] } },
        },
        subject: { country: 'FR', commonName: 'Zoé Martin', givenName: 'Zoé', surName: 'Martin', organizationName: 'Société, "X" + Cie' },
      },
    },
    certificateFormat: 'CERTIFICATE',
  });
  if (answer.keyReference === undefined) throw new Error(`no key: ${JSON.stringify(answer)}`);
  return { key: answer.keyReference, certificate: Buffer.from(answer.certificate ?? '', 'base64') };
}

async function call(environment: QuickstartEnvironment, client: string, operation: string, body: object): Promise<Answer> {
  const { baseUrl, signRoot, caCertificate, clients: known } = environment.description();
  const files = known[client];
  if (files === undefined) throw new Error(`no client ${client}`);
  const agent = new Agent({ ca: readFileSync(caCertificate), cert: readFileSync(files.certificate), key: readFileSync(files.key) });
  const answer = await new Promise<string>((resolve, reject) => {
    const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const sent = request(`${baseUrl}${signRoot}/${operation}`, options, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
  return Answer.parse(JSON.parse(answer));
}
