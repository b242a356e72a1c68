import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, certificateRequest, description, send, textOf, type ApiAnswer, type Body, type ClientName } from '../../support/api.ts';

export type Version = 'v1' | 'v2';
export const versions = ['v1', 'v2'] as const;

export const json = { 'Content-Type': 'application/json' };
export const oids = {
  ...{ sha256: '2.16.840.1.101.3.4.2.1', sha384: '2.16.840.1.101.3.4.2.2', sha1: '1.3.14.3.2.26' },
  ...{ ecdsaSha256: '1.2.840.10045.4.3.2', ecdsaSha384: '1.2.840.10045.4.3.3', rsaSha256: '1.2.840.113549.1.1.11' },
  ...{ rsa: '1.2.840.113549.1.1.1', pss: '1.2.840.113549.1.1.10' },
} as const;

export const cscPath = (version: Version, method: string): string => `${description.cscRoot ?? ''}/${version}/${method}`;

/** Calls a method with a JSON body. */
export async function csc(client: ClientName, version: Version, method: string, body: object): Promise<ApiAnswer> {
  return send(client, { path: cscPath(version, method), headers: json }, JSON.stringify(body));
}

/** Status, `error` and `error_description`: an error has nothing else. A success is its status alone. */
export function refusalOf({ status, body, headers }: ApiAnswer): string {
  if (status === 200 || status === 204) return String(status);
  expect([headers['content-type'], Object.keys(body)]).toEqual(['application/json', ['error', 'error_description']]);
  return `${status} ${textOf(body['error'])}: ${textOf(body['error_description'])}`;
}

export const invalid = (text: string): string => `400 invalid_request: ${text}`;

export const newHash = (): string => randomBytes(32).toString('base64');
export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('base64');

export interface Credential {
  readonly id: string;
  /** The password or the authToken. */
  readonly pin: string;
  readonly certificate: string;
}

/** `more`: members of the request; `info`: of its certificationRequestInfo. */
export async function newCredential(
  client: ClientName,
  protocol = 'PASSWORD',
  { more = {}, info = {} }: { readonly more?: object; readonly info?: object } = {},
): Promise<Credential> {
  const request = certificateRequest({ signatureActivationProtocol: protocol, ...info });
  const { body } = await call(client, 'pki/createCertificate', { ...request, ...more });
  const { reference, password, authToken } = body['keyReference'] ?? {};
  expect(reference).toBeDefined();
  return { id: textOf(reference), pin: textOf(password ?? authToken), certificate: textOf(body['certificate']) };
}

/** A credential of the tenant whose one-time passwords are sent, with the address that they go to. */
export async function newCredentialWithOwner(protocol: string): Promise<Credential & { readonly address: string }> {
  const address = `${randomBytes(6).toString('hex')}@example.org`;
  const PKCS10 = { attributes: { subscriber: { emailAddress: address } }, subject: { country: 'FR', commonName: 'Zoe Martin' } };
  return { ...(await newCredential('otp', protocol, { info: { PKCS10 } })), address };
}

/** Sends a one-time password, and reads it where it arrived. */
export async function sentOtp({ id, address }: { readonly id: string; readonly address: string }, version: Version): Promise<string> {
  const answer = await csc('otp', version, 'credentials/sendOTP', { credentialID: id });
  expect(refusalOf(answer)).toBe('204');
  return lastOtp(address);
}

/** The newest one-time password that the gateways received for an address. */
export function lastOtp(address: string): string {
  const { outboxDirectory = '' } = description;
  const messages = readdirSync(outboxDirectory)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(outboxDirectory, name), 'utf8')) as Record<string, string>);
  const text = messages.findLast(({ to }) => to === address)?.['text'];
  return text?.match(/\b\d{8}\b/)?.[0] ?? 'none';
}

export interface Secrets {
  readonly pin?: string | undefined;
  readonly otp?: string | undefined;
}

/** The request of `credentials/authorize` as each version writes it. */
export function authorizeRequest(
  version: Version,
  credentialID: string,
  { pin, otp }: Secrets,
  { hashes = [newHash()], ...more }: { readonly hashes?: readonly string[]; readonly [member: string]: unknown } = {},
): object {
  const common = { credentialID, numSignatures: hashes.length, ...more };
  if (version === 'v1') {
    return { ...common, hash: hashes, ...(pin === undefined ? {} : { PIN: pin }), ...(otp === undefined ? {} : { OTP: otp }) };
  }
  const authData = Object.entries({ PIN: pin, OTP: otp }).flatMap(([id, value]) => (value === undefined ? [] : [{ id, value }]));
  return { ...common, hashes, authData };
}

/** Authorises hashes, and returns the activation data. */
export async function authorised(
  client: ClientName,
  credentialID: string,
  secrets: Secrets,
  more: { readonly hashes?: readonly string[]; readonly [member: string]: unknown } = {},
): Promise<string> {
  const answer = await csc(client, 'v2', 'credentials/authorize', authorizeRequest('v2', credentialID, secrets, more));
  expect(refusalOf(answer)).toBe('200');
  return textOf(answer.body['SAD']);
}

/** The request of `signatures/signHash` as each version writes it, with ECDSA and SHA-256. */
export function signHashRequest(version: Version, credentialID: string, SAD: string, hashes: readonly string[], more: object = {}): object {
  return { credentialID, SAD, [version === 'v1' ? 'hash' : 'hashes']: hashes, signAlgo: oids.ecdsaSha256, ...more };
}

/** The request of `credentials/extendTransaction` as each version writes it. */
export function extendRequest(version: Version, credentialID: string, SAD: string, hashes: readonly string[]): object {
  return { credentialID, SAD, [version === 'v1' ? 'hash' : 'hashes']: hashes };
}

/** The request of `signatures/signDoc` for detached CAdES signatures of texts. */
export function signDocRequest(credentialID: string, SAD: string, texts: readonly string[], more: object = {}): object {
  const described = { signature_format: 'C', signed_envelope_property: 'Detached', signAlgo: oids.ecdsaSha256, ...more };
  return { credentialID, SAD, documents: texts.map((text) => ({ document: Buffer.from(text).toString('base64'), ...described })) };
}

/** Failed attempts that a key has left, by `checkKey`. */
export async function attemptsLeft(client: ClientName, reference: string): Promise<Body | undefined> {
  return (await call(client, 'pki/checkKey', { keyReference: { reference } })).body['remainingAttempts'];
}
