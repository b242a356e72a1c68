import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { z } from 'zod';
import { coveringProperties } from './covering-properties.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';

/** Makes signatures and certificates of every kind in the directory given, and `requests.jsonl` for a validator that is not ours. */
const directory = process.argv[2];
if (directory === undefined) throw new Error('usage: samples.ts DIRECTORY');
mkdirSync(directory, { recursive: true });

const Answer = z.object({
  keyReference: z.object({ reference: z.string(), password: z.string() }).optional(),
  certificate: z.string().optional(),
  evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.string() }) }) }).optional(),
});

const environment = quickstartEnvironment();
try {
  environment.start();
  await makeSamples();
} finally {
  environment.remove();
}

async function makeSamples(): Promise<void> {
  const document = join(place(), 'document.txt');
  writeFileSync(document, 'Lu et approuvé\n');
  const trust = join(place(), 'root.pem');
  writeFileSync(trust, readFileSync(environment.description().trustAnchors[0] ?? ''));
  writeFileSync(join(place(), 'issuing.pem'), readFileSync(join(environment.directory, 'pki', 'issuing.pem')));
  const content = readFileSync(document);
  const lines: string[] = [];
  for (const client of ['app', 'other', 'p384']) {
    const { keyReference, certificate } = await call(client, 'pki/createCertificate', {
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
    writeFileSync(join(place(), `certificate-${client}.der`), Buffer.from(certificate ?? '', 'base64'));
    for (const detached of [true, false]) {
      for (const digestAlgorithm of ['SHA_256', 'SHA_384', 'SHA_512']) {
        for (const RSAVersion of client === 'app' ? ['PKCS_1_1_5', 'PKCS_1_2_1'] : [undefined]) {
          const name = [client, detached ? 'detached' : 'attached', digestAlgorithm, RSAVersion ?? 'ECDSA'].join('-');
          await make(name, content, { detached, digestAlgorithm, RSAVersion });
        }
      }
    }
    for (const [index, [name, signedProperties]] of Object.entries(coveringProperties).entries()) {
      if (index % 3 !== ['app', 'other', 'p384'].indexOf(client)) continue;
      await make(`${client}-${name}`, content, { detached: index % 2 === 0, signedProperties });
    }
    const first = await make(`${client}-first`, content, { detached: false, digestAlgorithm: 'SHA_384' });
    const second = await make(`${client}-second`, first, { detached: false, validateSignatures: true });
    await make(`${client}-third`, second, {
      detached: false,
      validateSignatures: false,
      signedProperties: coveringProperties['everything'],
    });

    async function make(
      name: string,
      signed: Buffer,
      { detached, ...options }: { readonly detached: boolean; readonly [option: string]: unknown },
    ): Promise<Buffer> {
      const XP7Signature = { XP7Format: 'CXP_7', ...options, XP7Providers: { CXP7Parameters: { detached } } };
      const inputDocuments = [{ ID: 'd', base64Data: { base64Value: signed.toString('base64') } }];
      const { evidenceObject } = await call(client, 'signature/sign', { keyReference, parameters: { XP7Signature }, inputDocuments });
      const signature = Buffer.from(evidenceObject?.document.base64Data.base64Value ?? '', 'base64');
      const file = join(place(), name + (detached ? '.p7s' : '.p7m'));
      writeFileSync(file, signature);
      // Without signing time a signature is no baseline signature (EN 319 122-1 §6.3), and is judged without that demand.
      const level = name.endsWith('no-time') ? {} : { require: 'B' };
      lines.push(JSON.stringify({ file, ...(detached ? { content: [document] } : {}), trust: [trust], ...level }));
      return signature;
    }
  }
  writeFileSync(join(place(), 'requests.jsonl'), `${lines.join('\n')}\n`);
}

function place(): string {
  return directory ?? '';
}

async function call(client: string, operation: string, body: object): Promise<z.output<typeof Answer>> {
  const { baseUrl, signRoot, caCertificate, clients } = environment.description();
  const files = clients[client];
  if (files === undefined) throw new Error(`no client ${client}`);
  const agent = new Agent({ ca: readFileSync(caCertificate), cert: readFileSync(files.certificate), key: readFileSync(files.key) });
  const text = await new Promise<string>((resolve, reject) => {
    const sent = request(
      `${baseUrl}${signRoot}/${operation}`,
      { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          resolve(Buffer.concat(chunks).toString('utf8'));
        });
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
  return Answer.parse(JSON.parse(text));
}
