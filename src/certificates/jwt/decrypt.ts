import { createPrivateKey, type KeyObject } from 'node:crypto';
import { compactDecrypt, errors } from 'jose';
import { ConfigError } from '../../config/config.ts';
import { readSecret } from '../../config/secret-reference.ts';
import { Refusal } from '../../result-codes.ts';
import { refusedToken, type CompactToken } from './compact.ts';

const passwordAt = '/certificationRequestInfo/JWT/password';

const passwordAlgorithms = ['PBES2-HS256+A128KW', 'PBES2-HS384+A192KW', 'PBES2-HS512+A256KW'];
const rsaAlgorithms = ['RSA-OAEP', 'RSA-OAEP-256', 'RSA-OAEP-384', 'RSA-OAEP-512'];
const curveAlgorithms = ['ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A192KW', 'ECDH-ES+A256KW'];
const contentAlgorithms = ['A128GCM', 'A192GCM', 'A256GCM', 'A128CBC-HS256', 'A192CBC-HS384', 'A256CBC-HS512'];

/** Private keys that tokens are encrypted to. @throws {ConfigError} */
export function readDecryptionKeys(references: readonly string[]): KeyObject[] {
  return references.map((reference) => {
    const pem = readSecret(reference);
    try {
      const key = createPrivateKey(pem);
      if (algorithmsOf(key).length === 0) throw new Error(`no token can be encrypted to a key of type ${key.asymmetricKeyType}`);
      return key;
    } catch (error) {
      // What OpenSSL says of it has nothing of the key.
      throw new ConfigError(`${reference}: not a private key in PEM: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
}

export interface Decryption {
  readonly keys: readonly KeyObject[];
  readonly passwordIterationsMax: number;
}

/** Checks whether a token is under a password (RFC 7518 §4.8), and with how many iterations. */
export function passwordIterations({ header }: CompactToken): number | undefined {
  if (!passwordAlgorithms.includes(header.alg)) return undefined;
  const { p2c } = header;
  return typeof p2c === 'number' && Number.isSafeInteger(p2c) && p2c > 0 ? p2c : Infinity;
}

/**
 * The text that an encrypted token holds.
 * @throws {Refusal} ISSUANCE_REFUSED; FIELD_MISSING without the password that it is under,
 *   FIELDS_INCONSISTENT for one that it is not under
 */
export async function decryptToken(token: CompactToken, password: string | undefined, decryption: Decryption): Promise<string> {
  const { header } = token;
  if (header['crit'] !== undefined) throw refusedToken('the header of the token has critical extensions (crit), and none is understood');
  if (header['zip'] !== undefined) throw refusedToken('the token is compressed (zip), and no such token is taken');
  if (typeof header['enc'] !== 'string' || !contentAlgorithms.includes(header['enc'])) {
    throw refusedToken(`the token is encrypted by an algorithm (enc) other than ${contentAlgorithms.join(', ')}`);
  }
  const iterations = passwordIterations(token);
  if (iterations === undefined) return decryptWithKeys(token, password, decryption.keys);
  if (decryption.passwordIterationsMax === 0) throw refusedToken('the token is under a password, and no such token is taken');
  if (iterations > decryption.passwordIterationsMax) {
    throw refusedToken(`the token wants more iterations of PBKDF2 (p2c) than ${decryption.passwordIterationsMax}`);
  }
  if (password === undefined)
    throw new Refusal('FIELD_MISSING', { at: passwordAt, message: 'the token is under a password, which is required' });
  const options = { keyManagementAlgorithms: passwordAlgorithms, maxPBES2Count: decryption.passwordIterationsMax };
  const text = await opened(token, Buffer.from(password), options);
  if (text === undefined) throw refusedToken('the token is not under this password');
  return text;
}

async function decryptWithKeys(token: CompactToken, password: string | undefined, keys: readonly KeyObject[]): Promise<string> {
  const { alg } = token.header;
  const fitting = keys.filter((key) => algorithmsOf(key).includes(alg));
  if (fitting.length === 0) throw refusedToken('the token is encrypted in a way (alg), or to a kind of key, that is not configured');
  if (password !== undefined) throw passwordWithout('the token is encrypted to a key and not to a password');
  for (const key of fitting) {
    const text = await opened(token, key, { keyManagementAlgorithms: [alg] });
    if (text !== undefined) return text;
  }
  throw refusedToken('the token is not encrypted to a key of this service');
}

/** @throws {Refusal} */
export function passwordWithout(why: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: passwordAt, message: `${why}: leave the password out` });
}

/**
 * Undefined if the key is another one, or the token was changed: which of them is not told apart.
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
