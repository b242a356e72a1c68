import { constants, verify, type KeyObject } from 'node:crypto';
import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag } from '../asn1/sequence-fields.ts';

/** Hashes by their identifiers. SHA-1 is understood, so that what was signed long ago can be judged. */
export const hashNames: ReadonlyMap<string, string> = new Map([
  [oids.sha1, 'sha1'],
  ['2.16.840.1.101.3.4.2.4', 'sha224'],
  [oids.sha256, 'sha256'],
  [oids.sha384, 'sha384'],
  [oids.sha512, 'sha512'],
]);

const hashOfSignature: ReadonlyMap<string, string> = new Map([
  ['1.2.840.113549.1.1.5', 'sha1'],
  ['1.2.840.113549.1.1.14', 'sha224'],
  [oids.sha256WithRSAEncryption, 'sha256'],
  [oids.sha384WithRSAEncryption, 'sha384'],
  [oids.sha512WithRSAEncryption, 'sha512'],
  ['1.2.840.10045.4.1', 'sha1'],
  ['1.2.840.10045.4.3.1', 'sha224'],
  [oids.ecdsaWithSHA256, 'sha256'],
  [oids.ecdsaWithSHA384, 'sha384'],
  [oids.ecdsaWithSHA512, 'sha512'],
]);

/** How a value verifies. `hash` undefined: the key signs messages whole (Ed25519). */
export interface VerificationRule {
  readonly hash: string | undefined;
  readonly keyTypes: ReadonlySet<string>;
  readonly pssSaltBytes?: number;
}

const rsa = new Set(['rsa']);
const rsaPss = new Set(['rsa', 'rsa-pss']);
const ec = new Set(['ec']);
const edwards = new Set(['ed25519', 'ed448']);

/**
 * Reads the AlgorithmIdentifier of a signature: RSA (RFC 4055), RSASSA-PSS with its parameters, ECDSA (RFC 5758), Ed25519 and Ed448 (RFC 8410). CMS names
 * the key's algorithm alone where the hash stands elsewhere (RFC 3370 §3.2): `digestHash` is that hash.
 * @throws {DerError} for other algorithms and for PSS with two different hashes
 */
export function verificationRule(identifier: DerElement, digestHash?: string): VerificationRule {
  const [type, parameters] = children(expectTag(identifier, 0x30));
  const oid = type === undefined ? '' : readObjectIdentifier(type);
  const hash = hashOfSignature.get(oid);
  if (hash !== undefined) return { hash, keyTypes: oid.startsWith('1.2.840.10045.') ? ec : rsa };
  if (oid === oids.rsassaPss) return pssRule(parameters);
  if (oid === oids.ed25519 || oid === '1.3.101.113') return { hash: undefined, keyTypes: edwards };
  if (digestHash !== undefined && oid === oids.rsaEncryption) return { hash: digestHash, keyTypes: rsa };
  if (digestHash !== undefined && oid === oids.ecPublicKey) return { hash: digestHash, keyTypes: ec };
  throw new DerError(`the signature algorithm ${oid} is not understood`, identifier.start);
}

/** RFC 4055 §3.1; absent members have their defaults: SHA-1, MGF1 with SHA-1, 20, 1. */
function pssRule(parameters: DerElement | undefined): VerificationRule {
  const fields = new Map((parameters === undefined ? [] : children(expectTag(parameters, 0x30))).map((field) => [field.tag, field]));
  const hash = hashIn(inside(fields.get(0xa0)));
  const generation = inside(fields.get(0xa1));
  const mgfHash = hashIn(generation === undefined ? undefined : children(generation)[1]);
  if (hash !== mgfHash) throw new DerError('RSASSA-PSS with two different hashes', parameters?.start ?? 0);
  const salt = inside(fields.get(0xa2));
  return { hash, keyTypes: rsaPss, pssSaltBytes: salt === undefined ? 20 : saltBytes(salt) };
}

function inside(field: DerElement | undefined): DerElement | undefined {
  return field === undefined ? undefined : children(field)[0];
}

function hashIn(identifier: DerElement | undefined): string {
  if (identifier === undefined) return 'sha1';
  const [oid] = children(identifier);
  const hash = oid === undefined ? undefined : hashNames.get(readObjectIdentifier(oid));
  if (hash === undefined) throw new DerError('a hash that is not understood', identifier.start);
  return hash;
}

function saltBytes({ tag, content, start }: DerElement): number {
  if (tag !== 0x02 || content.length === 0 || content.length > 2 || (content[0] ?? 0) >= 0x80) throw new DerError('no salt length', start);
  return content.reduce((sum, octet) => sum * 256 + octet, 0);
}

/** Whether a value (ECDSA in DER) is the key's signature of the bytes. */
export function holds(rule: VerificationRule, key: KeyObject, bytes: Uint8Array, value: Uint8Array): boolean {
  if (!rule.keyTypes.has(key.asymmetricKeyType ?? '')) return false;
  const padding = rule.pssSaltBytes === undefined ? {} : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: rule.pssSaltBytes };
  try {
    return verify(rule.hash ?? null, bytes, { key, ...padding }, value);
  } catch {
    // OpenSSL throws for a key and parameters that do not go together, such as a salt longer than the key.
    return false;
  }
}
