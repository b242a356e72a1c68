import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { quickstartEnvironment, type QuickstartEnvironment } from '../support/quickstart-environment.ts';
import { coveringProperties } from './covering-properties.ts';
import { allCombinations, coveringPairs, levelFields, nameOf, parametersOf, type Combination } from './matrix.ts';

const Answer = z.object({
  result: z.object({ resultMajor: z.number().optional(), majorCode: z.number().optional() }).loose(),
  keyReference: z.object({ reference: z.string(), password: z.string() }).optional(),
  certificate: z.string().optional(),
  evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.string() }) }) }).optional(),
});
type KeyReference = NonNullable<z.output<typeof Answer>['keyReference']>;

/** What a validator is asked of one file; a line of JSON. */
export interface ValidationRequest {
  readonly file: string;
  readonly content?: readonly string[];
  readonly trust: readonly string[];
  /** The level claimed; absent where the signature claims none: without signing time it is no baseline signature (EN 319 122-1 §6.3). */
  readonly require?: Combination['level'];
}

type Options = Readonly<Record<string, unknown>> & { readonly detached: boolean };

/** The tenants' clients, and the key types that their profiles get in turn. */
const clients = { app: ['RSA-2048', 'RSA-4096'], other: ['P-256'], p384: ['P-384', 'P-521'] } as const;
const atOnce = 4;

/** Has a service of its own make every signature of the matrix, or some that cover its pairs, and writes them into the directory. */
export async function makeSignatures(directory: string, which: 'all' | 'pairs'): Promise<ValidationRequest[]> {
  mkdirSync(directory, { recursive: true });
  const environment = quickstartEnvironment();
  try {
    environment.start();
    const maker = new SignatureMaker(directory, environment);
    const keys = new Map<string, KeyReference>();
    for (const turn of [0, 1]) {
      environment.stop();
      configure(environment, turn);
      environment.start();
      for (const [client, types] of Object.entries(clients)) {
        const type = types[turn];
        if (type !== undefined) keys.set(type, await maker.newKey(client, type));
      }
    }
    const combinations = which === 'all' ? allCombinations() : coveringPairs();
    const left = combinations.values();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const combination of left) await maker.combination(combination, keys.get(combination.keyType));
      }),
    );
    for (const [type, key] of keys) await maker.coSignatures(type, key);
    return maker.requests;
  } finally {
    environment.remove();
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

class SignatureMaker {
  readonly requests: ValidationRequest[] = [];
  readonly #directory: string;
  readonly #environment: QuickstartEnvironment;
  readonly #document: string;
  readonly #trust: readonly string[];

  constructor(directory: string, environment: QuickstartEnvironment) {
    this.#directory = directory;
    this.#environment = environment;
    this.#document = join(directory, 'document.txt');
    writeFileSync(this.#document, 'Lu et approuvé\n');
    this.#trust = environment.description().trustAnchors.map((file, index) => {
      const copy = join(directory, `root-${index}.pem`);
      writeFileSync(copy, readFileSync(file));
      return copy;
    });
    writeFileSync(join(directory, 'issuing.pem'), readFileSync(join(environment.directory, 'pki', 'issuing.pem')));
  }

  async newKey(client: string, type: string): Promise<KeyReference> {
    const answer = await this.#call(client, 'pki/createCertificate', {
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
    writeFileSync(join(this.#directory, `certificate-${type}.der`), Buffer.from(answer.certificate ?? '', 'base64'));
    return answer.keyReference;
  }

  async combination(combination: Combination, key: KeyReference | undefined): Promise<void> {
    const claimed = combination.properties === 'no-time' ? {} : { require: combination.level };
    const signature = await this.#sign(combination.keyType, key, parametersOf(combination), readFileSync(this.#document));
    this.#write(nameOf(combination), signature, combination.detached, claimed);
  }

  /** One signer after the other, at levels that rise. */
  async coSignatures(type: string, key: KeyReference | undefined): Promise<void> {
    let content = readFileSync(this.#document);
    for (const [index, level] of (['B', 'T', 'LT', 'LTA'] as const).entries()) {
      const options: Options = {
        detached: false,
        ...(index === 0 ? {} : { validateSignatures: index % 2 === 1 }),
        ...levelFields(level),
        ...(index === 2 ? { signedProperties: coveringProperties['everything'] } : {}),
      };
      const { detached, ...rest } = options;
      const XP7Signature = { XP7Format: 'CXP_7', ...rest, XP7Providers: { CXP7Parameters: { detached } } };
      content = await this.#sign(type, key, { XP7Signature }, content);
      // The level of a file is that of its lowest signature.
      this.#write(`co-signed-${type}-${index + 1}`, content, false, { require: 'B' });
    }
  }

  async #sign(keyType: string, keyReference: KeyReference | undefined, parameters: object, content: Buffer): Promise<Buffer<ArrayBuffer>> {
    const inputDocuments = [{ ID: 'd', base64Data: { base64Value: content.toString('base64') } }];
    const client = Object.entries(clients).find(([, types]) => types.some((type) => type === keyType))?.[0] ?? '';
    const answer = await this.#call(client, 'signature/sign', { keyReference, parameters, inputDocuments });
    if (answer.evidenceObject === undefined) throw new Error(`${JSON.stringify(parameters)}: ${JSON.stringify(answer.result)}`);
    return Buffer.from(answer.evidenceObject.document.base64Data.base64Value, 'base64');
  }

  #write(name: string, signature: Buffer, detached: boolean, claimed: Pick<ValidationRequest, 'require'>): void {
    const file = join(this.#directory, name + (detached ? '.p7s' : '.p7m'));
    writeFileSync(file, signature);
    this.requests.push({ file, ...(detached ? { content: [this.#document] } : {}), trust: this.#trust, ...claimed });
  }

  async #call(client: string, operation: string, body: object): Promise<z.output<typeof Answer>> {
    const { baseUrl, signRoot, caCertificate, clients: known } = this.#environment.description();
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
}
