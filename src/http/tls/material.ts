import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { isIssuedBy } from '../../x509/issued-by.ts';
import type { Config } from '../../config/config.ts';
import { readKeyFile } from '../../config/secret-reference.ts';
import { ClientTrust, type SignedList } from './client-trust.ts';
import { tlsPolicy } from './policy.ts';
import { listPem, readRevocationLists, TlsMaterialError } from './revocation-lists.ts';

type ClientFiles = Pick<Config['listeners']['api'], 'clientCertificateAuthority' | 'clientRevocationLists' | 'clientRevocationUrls'>;
export type TlsFiles = ClientFiles & Pick<Config['listeners']['api'], 'certificate' | 'key'>;

/** The contents of the files at one moment, read and checked. */
export interface TlsMaterial {
  readonly context: SecureContextOptions;
  readonly certificate: X509Certificate;
  /** The CAs of the clients. */
  readonly authorities: readonly X509Certificate[];
  readonly trust: ClientTrust;
  /** The CRLs of the files; undefined where revocation is not checked. */
  readonly lists: readonly SignedList[] | undefined;
  /** Whether CRLs are fetched too. */
  readonly isFetched: boolean;
}

/**
 * Reads all files of the API listener and checks that they parse and belong together. Whether
 * certificates and CRLs are valid now is not judged: a service whose CRL has expired starts, and
 * says why it refuses everybody.
 *
 * Where CRLs are fetched, OpenSSL is given none: `ClientTrust` alone judges revocation, so that a
 * large CRL can be replaced without a pause.
 * @param fetched the CRLs that were fetched so far
 * @throws {TlsMaterialError} naming the file
 */
export function readTlsMaterial(files: TlsFiles, fetched: readonly SignedList[] = []): TlsMaterial {
  const [certificate, ...chain] = certificatesIn(files.certificate);
  if (certificate === undefined) throw new TlsMaterialError(`${files.certificate}: there is no certificate in PEM in this file`);
  const key = privateKeyIn(files.key);
  if (!certificate.checkPrivateKey(key)) {
    throw new TlsMaterialError(`${files.key}: this is not the key of ${files.certificate}`);
  }
  const authorities = authoritiesIn(files.clientCertificateAuthority);
  const lists = listsOf(files, authorities);
  const isFetched = files.clientRevocationUrls.length > 0;
  const context: SecureContextOptions = {
    ...tlsPolicy,
    cert: [certificate, ...chain].map(String).join(''),
    key: key.export({ format: 'pem', type: 'pkcs8' }),
    ca: authorities.map(String),
    ...(lists === undefined || isFetched ? {} : { crl: lists.map(({ der }) => listPem(der)) }),
  };
  try {
    createSecureContext(context);
  } catch (error) {
    throw new TlsMaterialError(
      `${files.certificate}: OpenSSL refuses the TLS files: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  return withFetchedLists({ context, certificate, authorities, lists, isFetched }, fetched);
}

/**
 * Returns the same files, with these CRLs beside theirs; of two of one CA, the newer one counts.
 */
export function withFetchedLists(material: Omit<TlsMaterial, 'trust'>, fetched: readonly SignedList[]): TlsMaterial {
  const { context, certificate, authorities, lists, isFetched } = material;
  const trust = new ClientTrust(authorities, isFetched ? [...(lists ?? []), ...fetched] : lists);
  return { context, certificate, authorities, lists, isFetched, trust };
}

/**
 * Reads the CAs of the clients.
 * @throws {TlsMaterialError} naming the file
 */
export function readClientAuthorities({ clientCertificateAuthority }: Pick<TlsFiles, 'clientCertificateAuthority'>): X509Certificate[] {
  return authoritiesIn(clientCertificateAuthority);
}

/**
 * Reads the CRLs of the client CAs as `readTlsMaterial` does, without the key.
 * @throws {TlsMaterialError} naming the file
 */
export function readClientLists(files: ClientFiles): SignedList[] | undefined {
  return listsOf(files, authoritiesIn(files.clientCertificateAuthority));
}

function listsOf(files: ClientFiles, authorities: readonly X509Certificate[]): SignedList[] | undefined {
  const isFetched = files.clientRevocationUrls.length > 0;
  if (files.clientRevocationLists.length === 0 && !isFetched) return undefined;
  const lists = files.clientRevocationLists.flatMap((file) => readRevocationLists(read(file), file, authorities));
  if (isFetched) return lists;
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
