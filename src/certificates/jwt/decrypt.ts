import { createPrivateKey, type KeyObject } from 'node:crypto';
import { compactDecrypt, errors } from 'jose';
import { ConfigError } from '../../config/config-error.ts';
import { readSecret } from '../../config/secret-reference.ts';
import { Refusal } from '../../result-codes.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { refusedToken, type CompactToken } from './compact.ts';

const passwordAt = '/certificationRequestInfo/JWT/password';

const passwordAlgorithms = ['PBES2-HS256+A128KW', 'PBES2-HS384+A192KW', 'PBES2-HS512+A256KW'];
const rsaAlgorithms = ['RSA-OAEP', 'RSA-OAEP-256', 'RSA-OAEP-384', 'RSA-OAEP-512'];
const curveAlgorithms = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW'];
const contentAlgorithms = ['A128GCM', 'A192GCM', 'A256GCM', 'A128CBC-HS256', 'A192CBC-HS384', 'A256CBC-HS512'];

/** Reads the private keys that tokens are encrypted to. @throws {ConfigError} */
export function readDecryptionKeys(references: readonly string[]): KeyObject[] {
  return references.map((reference) => {
    const pem = readSecret(reference);
    try {
      const key = createPrivateKey(pem);
      if (algorithmsOf(key).length === 0) throw new Error(`tokens cannot be encrypted to a key of type ${key.asymmetricKeyType}`);
      return key;
    } catch (error) {
      // OpenSSL's message reveals nothing of the key.
      throw new ConfigError(`${reference}: not a private key in PEM: ${reasonOf(error)}`);
    }
  });
}

export interface Decryption {
  readonly keys: readonly KeyObject[];
  readonly passwordIterationsMax: number;
}

/**
 * Returns the number of iterations of a password-encrypted token (RFC 7518 §4.8); undefined for
 * other tokens.
 */
export function passwordIterations({ header }: CompactToken): number | undefined {
  if (!passwordAlgorithms.includes(header.alg)) return undefined;
  const { p2c } = header;
  return typeof p2c === 'number' && Number.isSafeInteger(p2c) && p2c > 0 ? p2c : Infinity;
}

/**
 * Decrypts the text of an encrypted token.
 * @throws {Refusal} ISSUANCE_REFUSED; FIELD_MISSING if the token's password is missing,
 *   FIELDS_INCONSISTENT if it is superfluous
 */
export async function decryptToken(token: CompactToken, password: string | undefined, decryption: Decryption): Promise<string> {
  const { header } = token;
  if (header['crit'] !== undefined) throw refusedToken('the header of the token has critical extensions (crit), which are not supported');
  if (header['zip'] !== undefined) throw refusedToken('the token is compressed (zip), which is not supported');
  if (typeof header['enc'] !== 'string' || !contentAlgorithms.includes(header['enc'])) {
    throw refusedToken(`the encryption algorithm (enc) of the token is not one of ${contentAlgorithms.join(', ')}`);
  }
  const iterations = passwordIterations(token);
  if (iterations === undefined) return decryptWithKeys(token, password, decryption.keys);
  if (decryption.passwordIterationsMax === 0) throw refusedToken('the token is encrypted with a password, which is not allowed');
  if (iterations > decryption.passwordIterationsMax) {
    throw refusedToken(`the token requires more PBKDF2 iterations (p2c) than ${decryption.passwordIterationsMax}`);
  }
  if (password === undefined)
    throw new Refusal('FIELD_MISSING', { at: passwordAt, message: 'the token is encrypted with a password, which is required' });
  const options = { keyManagementAlgorithms: passwordAlgorithms, maxPBES2Count: decryption.passwordIterationsMax };
  const text = await opened(token, Buffer.from(password), options);
  if (text === undefined) throw refusedToken('the token is not encrypted with this password');
  return text;
}

async function decryptWithKeys(token: CompactToken, password: string | undefined, keys: readonly KeyObject[]): Promise<string> {
  const { alg } = token.header;
  const fitting = keys.filter((key) => algorithmsOf(key).includes(alg));
  if (fitting.length === 0) throw refusedToken('the key management algorithm (alg) of the token, or its kind of key, is not configured');
  if (password !== undefined) throw passwordWithout('the token is encrypted to a key, not with a password');
  for (const key of fitting) {
    const text = await opened(token, key, { keyManagementAlgorithms: [alg] });
    if (text !== undefined) return text;
  }
  throw refusedToken('the token is not encrypted to a key of this service');
}

/** Returns the refusal of a superfluous password. */
export function passwordWithout(why: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: passwordAt, message: `${why}: leave the password out` });
}

/**
 * Decrypts with one key. Undefined for a wrong key or a changed token, which cannot be
 * distinguished.
 */
async function opened(
  { text }: CompactToken,
  key: KeyObject | Uint8Array,
  options: { readonly keyManagementAlgorithms: string[]; readonly maxPBES2Count?: number },
): Promise<string | undefined> {
  try {
    const { plaintext } = await compactDecrypt(text, key, { ...options, contentEncryptionAlgorithms: contentAlgorithms });
    return Buffer.from(plaintext).toString('latin1');
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function algorithmsOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): readonly string[] {
  if (type === 'rsa') return rsaAlgorithms;
  const isCurve = type === 'x25519' || (type === 'ec' && ['prime256v1', 'secp384r1', 'secp521r1'].includes(details?.namedCurve ?? ''));
  return isCurve ? curveAlgorithms : [];
}
