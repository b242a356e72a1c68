import type { KeyObject, X509Certificate } from 'node:crypto';
import { DerError, readAll } from '../../asn1/reader.ts';
import { type KnownHash, verificationRule } from '../../x509/signature-identifier.ts';
import { readCertificate } from '../../x509/certificate.ts';
import { keyUsageBits, pathCertificate } from '../../x509/path/path-certificate.ts';
import { ConfigError } from '../../config/config-error.ts';
import { readCertificateList, readRevoked, type CertificateList } from '../../revocation/certificate-list.ts';
import { dataVerifies } from '../../verification/verify-value.ts';
import type { SignedList } from './client-trust.ts';

/** A file's content is not what it should be. The message names the file. */
export class TlsMaterialError extends ConfigError {}

/** A verified CRL whose serial numbers are in memory as text. */
interface ReadList extends SignedList {
  readonly revoked: ReadonlySet<string>;
}

/** Hashes with which no CRL is trusted. */
const weakHashes: ReadonlySet<KnownHash> = new Set<KnownHash>(['sha1', 'sha224']);

/**
 * Reads the CRLs in a file's content, in PEM or DER, and verifies each under the CA that it names.
 * The entries of a CRL are read last: only of one that the CA has signed.
 * @throws {TlsMaterialError} naming the file; also if there are more than `listsMax`
 */
export function readRevocationLists(
  content: Buffer,
  file: string,
  authorities: readonly X509Certificate[],
  listsMax = Infinity,
): ReadList[] {
  const lists = listsIn(content, file);
  if (lists.length > listsMax) throw new TlsMaterialError(`${file}: there are ${lists.length} CRLs, more than ${listsMax}`);
  return lists.map((der) => {
    const list = readable(file, () => readCertificateList(der));
    const named = authorities.filter((authority) => Buffer.compare(readCertificate(authority.raw).subject, list.issuer) === 0);
    if (named.length === 0) throw new TlsMaterialError(`${file}: the CRL is of none of the clients' certificate authorities`);
    const authority = named.find(({ publicKey }) => signatureHolds(list, publicKey));
    if (authority === undefined) throw new TlsMaterialError(`${file}: the CRL's signature is not that of the CA that it names`);
    if (!maySignLists(authority)) throw new TlsMaterialError(`${file}: the CA that signed the CRL may not sign CRLs (keyUsage)`);
    const { thisUpdate, nextUpdate, number } = list;
    return { thisUpdate, nextUpdate, number, revoked: readable(file, () => readRevoked(list)), der, authority };
  });
}

/** RFC 5280 §6.3.3 (f). */
function maySignLists({ raw }: X509Certificate): boolean {
  return pathCertificate(raw).keyUsage?.has(keyUsageBits.cRLSign) !== false;
}

/** Returns a CRL in the form that OpenSSL accepts. */
export function listPem(der: Uint8Array): string {
  const lines = Buffer.from(der)
    .toString('base64')
    .replaceAll(/.{1,64}/g, '$&\n');
  return `-----BEGIN X509 CRL-----\n${lines}-----END X509 CRL-----\n`;
}

function listsIn(content: Buffer, file: string): Buffer[] {
  if (content[0] === 0x30) return [content];
  const blocks = content.toString('latin1').matchAll(/-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]+)-----END X509 CRL-----/g);
  const lists = [...blocks].map(([, base64 = '']) => Buffer.from(base64, 'base64'));
  if (lists.length === 0) throw new TlsMaterialError(`${file}: there is no CRL in PEM or DER`);
  return lists;
}

function readable<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new TlsMaterialError(`${file}: the CRL cannot be used: ${error.message}`);
  }
}

function signatureHolds({ toBeSigned, signatureAlgorithm, signatureValue }: CertificateList, key: KeyObject): boolean {
  try {
    const rule = verificationRule(readAll(signatureAlgorithm));
    return !('hash' in rule && weakHashes.has(rule.hash)) && dataVerifies(key, rule, toBeSigned, signatureValue);
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}
