import { constants, verify, type KeyObject, type X509Certificate } from 'node:crypto';
import { oids } from '../../asn1/object-identifiers.ts';
import { children, DerError, readAll, readObjectIdentifier } from '../../asn1/reader.ts';
import { parseCertificate } from '../../certificates/x509.ts';
import { ConfigError } from '../../config/config.ts';
import { parseCertificateList, type CertificateList } from '../../revocation/certificate-list.ts';
import { algorithmOfOid, hashOfOid } from '../../cms/algorithm-identifier.ts';
import type { SignedList } from './client-trust.ts';

/** A file's content is not what it should be. The message names the file. */
export class TlsMaterialError extends ConfigError {}

/** Reads the CRLs in a file's content, in PEM or DER, and verifies each under the CA that it names. @throws {TlsMaterialError} naming the file */
export function readRevocationLists(content: Buffer, file: string, authorities: readonly X509Certificate[]): SignedList[] {
  return listsIn(content, file).map((der) => {
    const list = parsed(der, file);
    const named = authorities.filter((authority) => Buffer.compare(parseCertificate(authority.raw).subject, list.issuer) === 0);
    if (named.length === 0) throw new TlsMaterialError(`${file}: the CRL is of none of the clients' certificate authorities`);
    const authority = named.find(({ publicKey }) => signatureHolds(list, publicKey));
    if (authority === undefined) throw new TlsMaterialError(`${file}: the CRL's signature is not that of the CA that it names`);
    return { ...list, der, authority };
  });
}

/** A CRL as OpenSSL takes it. */
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
  if (lists.length === 0) throw new TlsMaterialError(`${file}: there is no CRL in PEM or DER in this file`);
  return lists;
}

function parsed(der: Buffer, file: string): CertificateList {
  try {
    return parseCertificateList(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new TlsMaterialError(`${file}: the CRL cannot be used: ${error.message}`);
  }
}

function signatureHolds({ toBeSigned, signatureAlgorithm, signatureValue }: CertificateList, key: KeyObject): boolean {
  const [identifier, parameters] = children(readAll(signatureAlgorithm));
  if (identifier === undefined) return false;
  const oid = readObjectIdentifier(identifier);
  try {
    if (oid === oids.ed25519) return verify(null, toBeSigned, key, signatureValue);
    const algorithm = algorithmOfOid(oid);
    if (algorithm === undefined) return false;
    if (algorithm.scheme !== 'RSA_PSS') return verify(algorithm.hash, toBeSigned, key, signatureValue);
    const hash = pssHash(parameters?.raw);
    const pss = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
    return hash !== undefined && verify(hash, toBeSigned, pss, signatureValue);
  } catch {
    // A key of another kind than the algorithm wants.
    return false;
  }
}

/** The hash of RSASSA-PSS-params (RFC 4055 §3.1); SHA-1, its default, is not taken. */
function pssHash(parameters: Uint8Array | undefined): string | undefined {
  if (parameters === undefined) return undefined;
  const [hash] = children(readAll(parameters));
  if (hash?.tag !== 0xa0) return undefined;
  const [identifier] = children(readAll(hash.content));
  const name = identifier === undefined ? undefined : hashOfOid(readObjectIdentifier(identifier));
  return name === 'sha1' ? undefined : name;
}
