import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { z } from 'zod';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { clientFile, firstSignatureDirectory } from './client-steps.ts';
import { ownDirectory, writeOwned } from './machine.ts';
import { places, ports } from './places.ts';
import type { SetupProgress } from './progress.ts';
import { hostsOf } from './server-step.ts';

const timeoutMs = 60_000;
/** The key can be tried for a day, if its profile allows that: it reduces a longer validity. */
const keyMinutes = 24 * 60;

const Created = z.object({
  result: z.object({ majorCode: z.literal(0) }),
  keyReference: z.object({ reference: z.string(), password: z.string() }),
  certificate: z.base64(),
});
const Signed = z.object({
  result: z.object({ resultMajor: z.literal(0) }),
  evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.string() }) }) }),
});

/** What the first signature leaves behind. */
export interface FirstSignature {
  readonly document: string;
  readonly signature: string;
  /** Shell command that makes the signature again, while the certificate of the key is valid. */
  readonly curl: string;
  readonly keyEnds: Date;
  readonly verdict: string;
}

/**
 * Creates a key and signs a document over mTLS, as the first client will, and has OpenSSL verify
 * the signature (CAdES).
 * @throws {CommandError} with the answer of the service
 */
export async function signFirstDocument(progress: SetupProgress): Promise<FirstSignature> {
  const { answers } = progress;
  // If it is there, an earlier run of this setup has made it.
  const directory = firstSignatureDirectory(answers);
  ownDirectory(directory, 'root', 'root', 0o700);
  const file = (name: string): string => join(directory, name);
  writeOwned(file('document.txt'), 'The first document that signetd signed here.\n', 0o600);
  const created = await call(Created, progress, '/sign/pki/createCertificate', {
    certificationRequestInfo: {
      signatureActivationProtocol: 'PASSWORD',
      validityPeriod: keyMinutes,
      PKCS10: { attributes: { subscriber: {} }, subject: { country: answers.country, commonName: 'First signature' } },
    },
    certificateFormat: 'CERTIFICATE',
  });
  const body = {
    keyReference: created.keyReference,
    parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } },
    inputDocuments: [
      { ID: 'document', fileName: 'document.txt', base64Data: { base64Value: readFileSync(file('document.txt')).toString('base64') } },
    ],
  };
  // It has the password of the key.
  writeOwned(file('sign.json'), JSON.stringify(body), 0o600);
  const { evidenceObject } = await call(Signed, progress, '/sign/signature/sign', body);
  writeOwned(file('document.txt.p7s'), Buffer.from(evidenceObject.document.base64Data.base64Value, 'base64'), 0o600);
  const verdict = verified(progress, file('document.txt.p7s'), file('document.txt'));
  return {
    ...{ document: file('document.txt'), signature: file('document.txt.p7s'), verdict },
    keyEnds: new X509Certificate(Buffer.from(created.certificate, 'base64')).validToDate,
    curl: curlCommand(progress, '/sign/signature/sign', file('sign.json')),
  };
}

/** Sends a request to the API of this machine. */
async function call<T>(schema: z.ZodType<T>, { answers }: SetupProgress, path: string, body: object): Promise<T> {
  const host = apiHost(answers);
  const { status, text } = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const sent = request(
      {
        ...{ host: '127.0.0.1', port: ports.api, path, method: 'POST', timeout: timeoutMs },
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...{ ca: authorityOf(), cert: readFileSync(clientFile(answers, 'pem')), key: readFileSync(clientFile(answers, 'key')) },
        headers: { 'Content-Type': 'application/json', Host: `${host}:${ports.api}` },
      },
      (response) => {
        let received = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          received += chunk;
        });
        response.on('end', () => {
          resolve({ status: response.statusCode, text: received });
        });
        response.on('error', reject);
      },
    );
    sent.on('timeout', () => {
      sent.destroy(new Error('no answer'));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
  const answer = schema.safeParse(jsonIn(text));
  if (answer.success) return answer.data;
  throw new CommandError(exitCodes.faultFound, `${path} was answered with HTTP ${status}: ${text.slice(0, 2000)}`);
}

function authorityOf(): Buffer | undefined {
  try {
    return readFileSync(places.serverAuthority);
  } catch {
    // A public CA may have issued the certificate.
    return undefined;
  }
}

/** The name under which the API's certificate knows this machine. */
function apiHost(answers: SetupProgress['answers']): string {
  const hosts = hostsOf(answers);
  return hosts.includes('localhost') ? 'localhost' : (hosts[0] ?? 'localhost');
}

function verified({ values }: SetupProgress, signature: string, document: string): string {
  const issuing = values.certificateAuthorities?.['issuing'];
  const root = issuing?.chain.at(-1) ?? issuing?.certificate ?? '';
  const args = [
    'cms',
    '-verify',
    '-binary',
    '-inform',
    'DER',
    '-in',
    signature,
    '-content',
    document,
    '-CAfile',
    root,
    '-out',
    '/dev/null',
  ];
  const { status, stderr, error } = spawnSync('openssl', [...args, '-purpose', 'any'], { encoding: 'utf8' });
  if (status === 0) return 'OpenSSL has verified it';
  throw new CommandError(exitCodes.faultFound, `OpenSSL does not verify the first signature: ${error?.message ?? stderr.trim()}`);
}

function curlCommand({ answers }: SetupProgress, path: string, body: string): string {
  const host = apiHost(answers);
  const words = [
    ...['curl', '--silent', '--show-error'],
    ...(authorityOf() === undefined ? [] : ['--cacert', places.serverAuthority]),
    ...['--cert', clientFile(answers, 'pem'), '--key', clientFile(answers, 'key')],
    ...(host === 'localhost' || isIP(host) !== 0 ? [] : ['--resolve', `${host}:${ports.api}:127.0.0.1`]),
    ...['--header', 'Content-Type: application/json', '--data-binary', `@${body}`, `https://${host}:${ports.api}${path}`],
  ];
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
