import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { changePassword } from '../../../src/operations/change-password/change-password.ts';
import { createCertificate } from '../../../src/operations/create-certificate/create-certificate.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { removeKey } from '../../../src/operations/remove-key/remove-key.ts';
import { sendOtp } from '../../../src/operations/send-otp/send-otp.ts';
import { revokeCertificate } from '../../../src/operations/revoke-certificate/revoke-certificate.ts';
import type { Description } from '../../../src/quickstart/description.ts';
import { quickstartEnvironment } from '../../support/quickstart-environment.ts';
import { copyOfQuickstart, type ServiceHere } from '../../support/service-here.ts';

/** A key that drawn requests name, with the secret that activates it. */
export interface DrawnKey {
  readonly tenant: string;
  readonly reference: string;
  readonly secret: { readonly password: string } | { readonly authToken: string };
  readonly certificate: string;
}

export const transactionId = 'transaction 7';
/** ID and content of the document that some keys and all one-time passwords are bound to. */
export const boundDocument = { id: 'contract', text: 'Signed in Paris.' } as const;

const boundDigest = createHash('sha256').update(boundDocument.text).digest();
const signerData = {
  digest: [{ id: boundDocument.id, digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: boundDigest.toString('base64') }],
};
const passwordKeys = {
  rsa: ['demo', {}, {}],
  rsaBound: ['demo', {}, { signerData }],
  p256: ['other', {}, {}],
  bound: ['other', {}, { signerData }],
  transaction: ['other', { transactionId }, {}],
  held: ['other', {}, {}],
  removed: ['other', {}, {}],
  chosen: ['other', {}, {}],
  guessed: ['other', {}, {}],
  p384: ['p384', {}, {}],
} as const satisfies Record<string, readonly [tenant: string, info: object, more: object]>;
/** Each signs once. */
const singleUseKeys = ['once1', 'once2', 'once3', 'once4'] as const;
/** Each has one open one-time password. */
const otpKeys = ['otp1', 'otp2', 'otp3', 'otp4'] as const;
export const drawnKeyNames = [
  ...(Object.keys(passwordKeys) as (keyof typeof passwordKeys)[]),
  ...singleUseKeys,
  ...otpKeys,
  'identity' as const,
];
export type DrawnKeyName = (typeof drawnKeyNames)[number];
export type DrawnKeys = Readonly<Record<DrawnKeyName, DrawnKey>>;

/**
 * Returns a directory of a service with a file to read and a place to write to. Its token host compares many wrong secrets: by
 * its own count it would refuse keys at times of its own, at which two services do not answer alike.
 */
export function directoryToDrawFrom(): string {
  const quickstart = quickstartEnvironment();
  quickstart.prepare();
  const directory = copyOfQuickstart(quickstart.directory);
  quickstart.remove();
  for (const name of ['read', 'write']) mkdirSync(join(directory, name), { recursive: true });
  writeFileSync(join(directory, 'read', 'document.txt'), 'A file.');
  const configPath = join(directory, 'signetd.yaml');
  const config = parse(readFileSync(configPath, 'utf8')) as { token: object };
  writeFileSync(configPath, stringify({ ...config, token: { ...config.token, wrongSecretsMax: 10_000 } }), { mode: 0o600 });
  return directory;
}

/** Asks for what must succeed, as a client of a tenant, and returns the answer. */
type Ask = (tenant: string, operation: Operation, body: Readonly<Record<string, unknown>>) => Promise<object>;

/** Makes the keys of a service in this process. */
export async function drawnKeysOf(service: ServiceHere): Promise<DrawnKeys> {
  const { twoDDoc } = JSON.parse(readFileSync(join(service.directory, 'quickstart.json'), 'utf8')) as Description;
  if (twoDDoc === undefined) throw new Error('the quickstart has a digital identity');
  const { keyReference: reference, password } = twoDDoc;
  const made = await makeDrawnKeys(async (tenant, operation, body) => {
    const { ended } = await service.ask(tenant, operation, body);
    if ('answer' in ended) return ended.answer;
    throw new Error(`${operation.path}: ${JSON.stringify(ended)}`);
  });
  return { ...made, identity: { tenant: 'demo', reference, secret: { password }, certificate: '' } };
}

/** Makes keys in every state that a key can have, all but that of a digital identity. */
export async function makeDrawnKeys(ask: Ask): Promise<Omit<DrawnKeys, 'identity'>> {
  const keys = new Map<string, DrawnKey>();
  for (const [name, [tenant, info, more]] of Object.entries(passwordKeys))
    keys.set(name, await newKey(ask, tenant, 'PASSWORD', info, more));
  for (const name of singleUseKeys) keys.set(name, await newKey(ask, 'other', 'SINGLE_USE'));
  for (const name of otpKeys) {
    const key = await newKey(ask, 'other', 'OTP');
    const answer = await ask('other', sendOtp, { action: 'SIGN', keyReference: key.reference, signerData });
    // The answer has it, since no gateway delivers it.
    keys.set(name, { ...key, secret: answer as { password: string } });
  }
  // Every name was set.
  const all = Object.fromEntries(keys) as Omit<DrawnKeys, 'identity'>;
  const { held, removed, chosen } = all;
  await ask(held.tenant, revokeCertificate, { certificate: held.certificate, reason: 'CERTIFICATE_HOLD' });
  await ask(removed.tenant, removeKey, { keyReference: { reference: removed.reference, ...removed.secret } });
  const password = 'A password that a person chose';
  await ask(chosen.tenant, changePassword, { keyReference: { reference: chosen.reference, ...chosen.secret }, password });
  return { ...all, chosen: { ...chosen, secret: { password } } };
}

async function newKey(ask: Ask, tenant: string, protocol: string, info: object = {}, more: object = {}): Promise<DrawnKey> {
  const answer = await ask(tenant, createCertificate, {
    certificationRequestInfo: {
      signatureActivationProtocol: protocol,
      PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Camille Martin' } },
      ...info,
    },
    certificateFormat: 'CERTIFICATE',
    ...more,
  });
  const { keyReference, certificate } = answer as { keyReference: Record<string, string>; certificate: string };
  const { reference = '', password = '', authToken } = keyReference;
  return { tenant, reference, certificate, secret: authToken === undefined ? { password } : { authToken } };
}
