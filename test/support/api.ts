import { readFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { Description } from '../../src/quickstart/description.ts';
import { rememberSecrets } from './suite-logs.ts';

export const directory = inject('quickstartDirectory');
export const description = JSON.parse(readFileSync(join(directory, 'quickstart.json'), 'utf8')) as Description;
export const root = description.trustAnchors[0] ?? '';

export type ClientName = 'app' | 'other' | 'signer' | 'unregistered' | 'p384' | 'otp';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // The tests look into answers of every shape.
  readonly body: Body;
}

/** A JSON answer, as the tests read it. */
export interface Body {
  readonly [member: string]: Body;
}

/** The text or number in an answer. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'absent';
}

const agents = new Map<string, Agent>();

export function agentFor(name: ClientName): Agent {
  const known = agents.get(name);
  if (known !== undefined) return known;
  const files = description.clients[name];
  if (files === undefined) throw new Error(`no client ${name}`);
  const agent = new Agent({
    keepAlive: true,
    ca: readFileSync(description.caCertificate),
    cert: readFileSync(files.certificate),
    key: readFileSync(files.key),
  });
  agents.set(name, agent);
  return agent;
}

/** Sends one request to the running service. */
export async function send(
  client: ClientName,
  options: RequestOptions & { readonly path: string },
  body?: string | Buffer,
): Promise<ApiAnswer> {
  rememberSecrets(body);
  return new Promise((resolve, reject) => {
    const sent = request(`${description.baseUrl}${options.path}`, { agent: agentFor(client), method: 'POST', ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        rememberSecrets(text);
        const isJson = response.headers['content-type']?.includes('json') ?? false;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: (isJson && text !== '' ? JSON.parse(text) : {}) as Body,
        });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

export const pathOf = (operation: string): string => `${description.signRoot}/${operation}`;

/** Calls an operation with a JSON body (or with the bytes given) and answers what came. */
export async function call(client: ClientName, operation: string, body: unknown, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return send(client, { path: pathOf(operation), headers: { 'Content-Type': 'application/json', ...headers } }, bytes);
}

/** Major and minor code of an answer, as in `2/202`, whatever its spelling. */
export function codeOf({ status, body }: ApiAnswer): string {
  if (status !== 200) return `HTTP ${status}`;
  const { result } = body;
  return `${textOf(result?.['resultMajor'] ?? result?.['majorCode'])}/${textOf(result?.['resultMinor'] ?? result?.['minorCode'])}`;
}

export function messageOf({ body }: ApiAnswer): string {
  return textOf(body['result']?.['resultMessage'] ?? body['result']?.['message']);
}

export const subject = { country: 'FR', commonName: 'Camille Martin' };

export function certificateRequest(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    certificationRequestInfo: { signatureActivationProtocol: 'PASSWORD', PKCS10: { attributes: { subscriber: {} }, subject }, ...changes },
    certificateFormat: 'CERTIFICATE',
  };
}

export interface TestKey {
  readonly reference: string;
  readonly password: string;
  readonly certificate: Buffer;
}

export async function newKey(client: ClientName): Promise<TestKey> {
  const { body } = await call(client, 'pki/createCertificate', certificateRequest());
  return {
    reference: textOf(body['keyReference']?.['reference']),
    password: textOf(body['keyReference']?.['password']),
    certificate: Buffer.from(textOf(body['certificate']), 'base64'),
  };
}

export const secretOf = ({ reference, password }: TestKey): { reference: string; password: string } => ({ reference, password });

export const contentDocument = (text: string | Buffer, ID = 'd'): Record<string, unknown> => ({
  ID,
  base64Data: { base64Value: Buffer.from(text).toString('base64') },
});

/** The bytes of the evidence at an index. */
export function evidenceOf({ body }: ApiAnswer, index = 0): Buffer {
  return Buffer.from(textOf(body['evidenceObjects']?.[index]?.['document']?.['base64Data']?.['base64Value']), 'base64');
}
