import { constants, createHash, createPublicKey, verify } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import type { KeyType } from '../../config/key-types.ts';
import { hashBytes, type HashName, type SignatureAlgorithm } from '../signature-algorithm.ts';
import { ckr, requestIsRefused } from '../pkcs11-faults.ts';
import { hmacs, isHmac, makeHmac } from './hmac.ts';
import { createKeyPair, makeMacKey, type KeyRules } from './key-objects.ts';
import { rsaBitsOf } from './key-templates.ts';
import { signing } from './mechanisms.ts';
import type { ModuleProfile } from './module-profile.ts';
import { pkcs11Code, type Session } from './session.ts';

const message = Buffer.from('signetd probe');
const randomBytes = 16;
const maxSignatureBytes = 1024;

/**
 * Codes by which a module reports that it does not support something; all others report a failure
 * of the moment (PKCS#11 §5.1).
 */
const cannot = (code: number): boolean => requestIsRefused(code) || code === ckr.SIGNATURE_INVALID;

/**
 * Returns why a trial is not supported, or undefined if it works. It rethrows other errors, such as
 * a device failure.
 */
export function reasonAgainst(trial: () => void): string | undefined {
  try {
    trial();
    return undefined;
  } catch (error) {
    const code = pkcs11Code(error);
    if (error instanceof TrialFailed || (code !== undefined && cannot(code))) {
      return error instanceof Error ? error.message.split('\n')[0] : undefined;
    }
    throw error;
  }
}

/** The token returned a wrong result. */
export class TrialFailed extends Error {}

/**
 * Tries HMAC-SHA256: a MAC is made, verified, and must be refused once it is changed.
 * @param known the MAC key, if there is one: a token that is full makes no key for a trial
 */
export function tryMac(session: Session, profile: ModuleProfile, known: Handle | undefined): void {
  if (known !== undefined) {
    tryMacWith(session, known, profile);
    return;
  }
  const key = makeMacKey(session, 'session', profile);
  try {
    tryMacWith(session, key, profile);
  } finally {
    session.module.C_DestroyObject(session.handle, key);
  }
}

function tryMacWith(session: Session, key: Handle, { macKey: { comparedBy } }: ModuleProfile): void {
  const used = { hash: 'sha256', key } as const;
  const mac = makeHmac(session, used, message);
  if (mac.length !== hmacs.sha256.bytes) throw new TrialFailed(`the MAC has ${mac.length} bytes`);
  if (!isHmac(session, used, message, mac, comparedBy)) throw new TrialFailed('the token refuses its own MAC');
  const wrong = Buffer.from(mac.map((byte, index) => (index === 0 ? byte ^ 1 : byte)));
  if (isHmac(session, used, message, wrong, comparedBy)) throw new TrialFailed('the token accepts a wrong MAC');
}

export function tryRandom({ module, handle }: Session): void {
  const bytes = module.C_GenerateRandom(handle, Buffer.alloc(randomBytes));
  if (bytes.every((byte) => byte === bytes[0])) throw new TrialFailed('the random bytes are all the same');
}

/**
 * Makes a temporary key and signs with each of these algorithms; OpenSSL verifies the values.
 * Returns the reasons for failures.
 */
export function tryKeyType(
  session: Session,
  type: KeyType,
  algorithms: readonly SignatureAlgorithm[],
  rules: KeyRules,
): { algorithm: SignatureAlgorithm; against: string | undefined }[] {
  const { handle, publicKeyInfo } = createKeyPair(session, 'session', type, rules);
  try {
    return algorithms.map((algorithm) => ({
      algorithm,
      against: reasonAgainst(() => {
        trySignature(session, handle, publicKeyInfo, algorithm);
      }),
    }));
  } finally {
    session.module.C_DestroyObject(session.handle, handle);
  }
}

function trySignature({ module, handle }: Session, key: Handle, publicKeyInfo: Buffer, algorithm: SignatureAlgorithm): void {
  const { mechanism, input } = signing(algorithm, createHash(algorithm.hash).update(message).digest());
  module.C_SignInit(handle, mechanism, key);
  const value = module.C_Sign(handle, input, Buffer.alloc(maxSignatureBytes));
  // OpenSSL uses one hash for both the digest and MGF1; for other combinations, that the token
  // signed must suffice.
  if (algorithm.scheme === 'RSA_PSS' && algorithm.mgfHash !== algorithm.hash) return;
  const publicKey = createPublicKey({ key: publicKeyInfo, format: 'der', type: 'spki' });
  const options =
    algorithm.scheme === 'ECDSA'
      ? ({ key: publicKey, dsaEncoding: 'ieee-p1363' } as const)
      : algorithm.scheme === 'RSA_PSS'
        ? { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltBytes }
        : publicKey;
  if (!verify(algorithm.hash, message, options, value)) throw new TrialFailed('the signature does not verify');
}

const hashes = ['sha256', 'sha384', 'sha512'] as const satisfies readonly HashName[];

/**
 * Algorithms to try with a key of this type. `all`: every hash and, for the first RSA size, also
 * PSS with another hash in MGF1.
 */
export function algorithmsOf(type: KeyType, all: boolean): SignatureAlgorithm[] {
  const tried = all ? hashes : (['sha256'] as const);
  if (rsaBitsOf(type) === undefined) return tried.map((hash) => ({ scheme: 'ECDSA', hash }));
  return [
    ...tried.map((hash) => ({ scheme: 'RSA_PKCS1', hash }) as const),
    ...tried.flatMap((hash) =>
      tried
        .filter((mgfHash) => mgfHash === hash || type === 'RSA-2048')
        .map((mgfHash) => ({ scheme: 'RSA_PSS', hash, mgfHash, saltBytes: hashBytes[hash] }) as const),
    ),
  ];
}
