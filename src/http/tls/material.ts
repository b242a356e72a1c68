import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { isIssuedBy } from '../../x509/issued-by.ts';
import type { Config } from '../../config/config.ts';
import { readKeyFile } from '../../config/secret-reference.ts';
import { ClientTrust, type SignedList } from './client-trust.ts';
import { tlsPolicy } from './policy.ts';
import { listPem, readRevocationLists, TlsMaterialError } from './revocation-lists.ts';

export type TlsFiles = Pick<Config['listeners']['api'], 'certificate' | 'key' | 'clientCertificateAuthority' | 'clientRevocationLists'>;

/** The contents of the files at one moment, read and checked. */
export interface TlsMaterial {
  readonly context: SecureContextOptions;
  readonly certificate: X509Certificate;
  readonly trust: ClientTrust;
  readonly lists: readonly SignedList[] | undefined;
}

/**
 * Reads all files of the API listener and checks that they parse and belong together. Whether
 * certificates and CRLs are valid now is not judged: a service whose CRL has expired starts, and
 * says why it refuses everybody.
 * @throws {TlsMaterialError} naming the file
 */
export function readTlsMaterial(files: TlsFiles): TlsMaterial {
  const [certificate, ...chain] = certificatesIn(files.certificate);
  if (certificate === undefined) throw new TlsMaterialError(`${files.certificate}: there is no certificate in PEM in this file`);
  const key = privateKeyIn(files.key);
  if (!certificate.checkPrivateKey(key)) {
    throw new TlsMaterialError(`${files.key}: this is not the key of ${files.certificate}`);
  }
  const authorities = authoritiesIn(files.clientCertificateAuthority);
  const lists = listsOf(files, authorities);
  const context: SecureContextOptions = {
    ...tlsPolicy,
    cert: [certificate, ...chain].map(String).join(''),
    key: key.export({ format: 'pem', type: 'pkcs8' }),
    ca: authorities.map(String),
    ...(lists === undefined ? {} : { crl: lists.map(({ der }) => listPem(der)) }),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new TlsMaterialError(
      `${files.certificate}: OpenSSL refuses the TLS files: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return { context, certificate, trust: new ClientTrust(authorities, lists), lists };
}

/**
 * Reads the CRLs of the client CAs as `readTlsMaterial` does, without the key.
 * @throws {TlsMaterialError} naming the file
 */
export function readClientLists(files: Pick<TlsFiles, 'clientCertificateAuthority' | 'clientRevocationLists'>): SignedList[] | undefined {
  return listsOf(files, authoritiesIn(files.clientCertificateAuthority));
}

function listsOf(
  files: Pick<TlsFiles, 'clientCertificateAuthority' | 'clientRevocationLists'>,
  authorities: readonly X509Certificate[],
): SignedList[] | undefined {
  if (files.clientRevocationLists.length === 0) return undefined;
  const lists = files.clientRevocationLists.flatMap((file) => readRevocationLists(read(file), file, authorities));
  for (const authority of authorities) {
    if (!lists.some((list) => list.authority.subject === authority.subject && list.authority.publicKey.equals(authority.publicKey))) {
      throw new TlsMaterialError(
        `${files.clientCertificateAuthority}: there is no CRL of ${nameOf(authority)}: with clientRevocationLists, each CA has one`,
      );
    }
  }
  return lists;
}

/** Returns the CAs of a file, which holds the chain of each to a self-signed one. */
function authoritiesIn(file: string): X509Certificate[] {
  const authorities = certificatesIn(file);
  if (authorities.length === 0) throw new TlsMaterialError(`${file}: there is no certificate in PEM in this file`);
  for (const authority of authorities) {
    if (!authority.ca) throw new TlsMaterialError(`${file}: ${nameOf(authority)} is no certificate authority`);
    if (!authorities.some((other) => isIssuedBy(authority, other))) {
      throw new TlsMaterialError(
        `${file}: the CA that issued ${nameOf(authority)} is missing: the file holds each CA up to its self-signed root`,
      );
    }
  }
  return authorities;
}

function certificatesIn(file: string): X509Certificate[] {
  const blocks =
    read(file)
      .toString('latin1')
      .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new TlsMaterialError(`${file}: certificate ${index + 1} does not parse`);
    }
  });
}

function privateKeyIn(file: string): KeyObject {
  const pem = secretIn(file);
  try {
    return createPrivateKey(pem);
  } catch {
    throw new TlsMaterialError(`${file}: this is no private key in PEM without a passphrase`);
  } finally {
    pem.fill(0);
  }
}

function secretIn(file: string): Buffer {
  try {
    return readKeyFile(file);
  } catch (error) {
    throw new TlsMaterialError(error instanceof Error ? error.message : String(error));
  }
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new TlsMaterialError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function nameOf({ subject }: X509Certificate): string {
  return subject.replaceAll('\n', ', ');
}
