import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addIdentity } from '../cli/twoddoc/identity-add.ts';
import { openSqliteStore } from '../state/threaded-store.ts';
import { readCertificateText } from '../x509/certificate.ts';
import { command } from './command.ts';
import { layout } from './layout.ts';

/** The digital identity as quickstart.json describes it (contract §11). */
export interface DigitalIdentityDescription {
  readonly caId: string;
  readonly certificateId: string;
  /** PEM file. */
  readonly certificate: string;
  /** SHA-1 of the certificate, hexadecimal. */
  readonly keyReference: string;
  readonly password: string;
  readonly documentTypes: readonly string[];
}

export const identityTenant = 'demo';
/** Identifiers of tests. */
const [ca, certificateId] = ['FR00', '0001'];
const documentTypes = ['00', '01', '02', '04', '06', '08', '10', '12', 'A0', 'B0', 'B2', 'L1'];
const certificate = join(layout.twoDDoc, `${ca}-${certificateId}.pem`);
const passwordFile = join(layout.twoDDoc, 'password');

/** Returns the section of the tenant that has the identity. Its certificate may not exist yet. */
export function twoDDocSection(): object {
  return { allowTestIdentifiers: true, identities: [{ ca, certificateId, certificate, types: documentTypes }] };
}

/**
 * Makes a CA for tests with OpenSSL, and has it certify a new key on the token. The service must
 * not be running. The rest of an interrupted attempt is replaced, since its password is lost.
 */
export async function makeDigitalIdentity(): Promise<void> {
  await removeRest();
  mkdirSync(layout.twoDDoc, { recursive: true, mode: 0o700 });
  const organization = { organization: 'signetd quickstart', siren: '000000000', country: 'FR' };
  const identity = { tenant: identityTenant, ca, certificateId, directory: layout.twoDDoc };
  const added = await addIdentity(layout.config, { ...identity, ...organization, curve: 'P-256' });
  const authority = { certificate: join(layout.twoDDoc, `${ca}.pem`), key: join(layout.twoDDoc, `${ca}.key`) };
  await command('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '3650'],
    ...['-subj', `/C=FR/O=signetd quickstart/OU=0002 000000000/CN=${ca}`, '-keyout', authority.key, '-out', authority.certificate],
    ...['-addext', 'basicConstraints=critical,CA:TRUE,pathlen:0', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'],
  ]);
  const extensions = join(layout.twoDDoc, 'extensions');
  writeFileSync(extensions, 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n');
  await command('openssl', [
    ...['x509', '-req', '-in', added.request, '-CA', authority.certificate, '-CAkey', authority.key, '-days', '1095'],
    ...['-extfile', extensions, '-out', certificate],
  ]);
  rmSync(extensions);
  writeFileSync(passwordFile, added.password, { mode: 0o600 });
}

/** Whether the identity was made completely: the file of the password is the last. */
export function hasDigitalIdentity(): boolean {
  return existsSync(passwordFile);
}

/** Returns the description; undefined if there is no identity. */
export function digitalIdentity(): DigitalIdentityDescription | undefined {
  if (!hasDigitalIdentity()) return undefined;
  const { sha1Fingerprint: keyReference } = readCertificateText(readFileSync(certificate));
  return { caId: ca, certificateId, certificate, keyReference, password: readFileSync(passwordFile, 'utf8'), documentTypes };
}

async function removeRest(): Promise<void> {
  rmSync(layout.twoDDoc, { recursive: true, force: true });
  const store = await openSqliteStore(layout.state);
  try {
    const key = await store.run('findIdentityKey', { tenant: identityTenant, ca, certificate_id: certificateId });
    // The next start of the service destroys it on the token.
    if (key !== undefined) await store.run('removeIdentityKey', { reference: key.reference, now: store.now() });
  } finally {
    await store.close();
  }
}
