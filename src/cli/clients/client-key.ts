import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tlsKeyFault } from '../../certificates/tls-certificate.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { readCertificationRequest } from '../../x509/certification-request.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';

/** Types of keys that signetctl makes for TLS. */
export const tlsKeyTypes = ['P-256', 'P-384', 'RSA-2048', 'RSA-3072', 'RSA-4096'] as const;
export type TlsKeyType = (typeof tlsKeyTypes)[number];

/** The key of a client: made here, or known only by its public half. */
export interface ClientKey {
  /** DER. */
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly privateKey?: KeyObject;
}

/** @throws {CommandError} */
export function tlsKeyTypeOf(text: string, option: string): TlsKeyType {
  const found = tlsKeyTypes.find((type) => type === text);
  if (found === undefined) throw new CommandError(exitCodes.usage, `${option} takes one of ${tlsKeyTypes.join(', ')}`);
  return found;
}

/** Makes a key in memory. */
export function newTlsKey(type: TlsKeyType): Required<ClientKey> {
  const { publicKey, privateKey } = type.startsWith('RSA-')
    ? generateKeyPairSync('rsa', { modulusLength: Number(type.slice('RSA-'.length)) })
    : generateKeyPairSync('ec', { namedCurve: type });
  return { subjectPublicKeyInfo: publicKey.export({ format: 'der', type: 'spki' }), privateKey };
}

/**
 * Returns the key of a certification request, whose sender has the private key.
 * @throws {CommandError}
 */
export function requestedKey(file: string): ClientKey {
  try {
    const { subjectPublicKeyInfo } = readCertificationRequest(readFileSync(file));
    const fault = tlsKeyFault(subjectPublicKeyInfo);
    if (fault !== undefined) throw new Error(fault);
    return { subjectPublicKeyInfo };
  } catch (error) {
    throw new CommandError(exitCodes.usage, `--csr: ${file}: this request (PKCS #10) cannot be used: ${reasonOf(error)}`);
  }
}
