import type { Attribute } from 'pkcs11js';
import type { KeyType } from '../../config/key-types.ts';
import { parseKeyId, type KeyId } from '../key-id.ts';
import { macKeyTypes, omittableAttributes, type OmittableAttribute } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import { pkcs11js } from './session.ts';

/** CKA_EC_PARAMS of the curves: DER of their object identifiers. */
export const curves = {
  'P-256': Buffer.from('06082a8648ce3d030107', 'hex'),
  'P-384': Buffer.from('06052b81040022', 'hex'),
  'P-521': Buffer.from('06052b81040023', 'hex'),
} as const;
export type Curve = keyof typeof curves;

/** Place of a key: on the token under its identifier, or in the probe's session. */
export type KeyPlace = { readonly id: KeyId } | 'session';

export const macKeyLabel = 'signetd secrets';
const macKeyBytes = 32;
const sharedLabel = 'signetd';
const labelWithId = /^signetd ([0-9a-f]{34})$/;

/** Bits of the modulus, or undefined for an elliptic curve. */
export function rsaBitsOf(type: KeyType): number | undefined {
  return type.startsWith('RSA-') ? Number(type.slice(4)) : undefined;
}

export function curveOf(type: KeyType): Curve {
  if (type === 'P-256' || type === 'P-384' || type === 'P-521') return type;
  throw new Error(`${type} is not an elliptic curve`);
}

/** Returns the CKA_LABEL of a signetd key. */
export function labelOf(place: KeyPlace, profile: ModuleProfile): string {
  if (place === 'session') return 'signetd probe';
  return profile.idAfterGeneration || profile.privateKey.uniqueLabel ? `${sharedLabel} ${place.id}` : sharedLabel;
}

/** Whether signetd makes keys with this label, the MAC key excepted. */
export function isOurLabel(label: string): boolean {
  return label === sharedLabel || idInLabel(label) !== undefined;
}

/** Returns the identifier in a label; undefined if it has none. */
export function idInLabel(label: string): KeyId | undefined {
  const hex = labelWithId.exec(label)?.[1];
  try {
    return hex === undefined ? undefined : parseKeyId(hex);
  } catch {
    return undefined;
  }
}

export function publicTemplate(place: KeyPlace, type: KeyType, profile: ModuleProfile): Attribute[] {
  const bits = rsaBitsOf(type);
  const shape =
    bits === undefined
      ? [{ type: pkcs11js.CKA_EC_PARAMS, value: curves[curveOf(type)] }]
      : [
          { type: pkcs11js.CKA_MODULUS_BITS, value: bits },
          { type: pkcs11js.CKA_PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) },
        ];
  return verifyingTemplate(place, shape, profile);
}

/** Template of a public key of this shape: curve, or size and exponent. */
export function verifyingTemplate(place: KeyPlace, shape: readonly Attribute[], profile: ModuleProfile): Attribute[] {
  const onToken = place !== 'session' && profile.publicKey.onToken;
  return [
    // The public key is in the certificate; as a token object it would only take up space.
    { type: pkcs11js.CKA_TOKEN, value: onToken },
    // A kill can leave behind a public key that is on the token only for a moment: it is found and
    // destroyed with the private key.
    ...(onToken ? named(place, labelOf(place, profile), profile) : []),
    { type: pkcs11js.CKA_VERIFY, value: true },
    ...shape,
  ];
}

export function privateTemplate(place: KeyPlace, type: KeyType, profile: ModuleProfile): Attribute[] {
  const mechanisms = rsaBitsOf(type) === undefined ? [pkcs11js.CKM_ECDSA] : [pkcs11js.CKM_RSA_PKCS, pkcs11js.CKM_RSA_PKCS_PSS];
  return signingTemplate(place, mechanisms, profile);
}

/** Template of a private key that only signs, with these mechanisms. */
export function signingTemplate(place: KeyPlace, mechanisms: readonly number[], profile: ModuleProfile): Attribute[] {
  return without(profile.privateKey.omit, [
    ...named(place, labelOf(place, profile), profile),
    { type: pkcs11js.CKA_TOKEN, value: place !== 'session' },
    { type: pkcs11js.CKA_PRIVATE, value: true },
    { type: pkcs11js.CKA_SENSITIVE, value: true },
    { type: pkcs11js.CKA_EXTRACTABLE, value: false },
    { type: pkcs11js.CKA_SIGN, value: true },
    { type: pkcs11js.CKA_DECRYPT, value: false },
    { type: pkcs11js.CKA_UNWRAP, value: false },
    { type: pkcs11js.CKA_DERIVE, value: false },
    { type: pkcs11js.CKA_ALLOWED_MECHANISMS, value: mechanismList(mechanisms) },
  ]);
}

/** Template of the key that secrets are checked with: non-extractable, HMAC-SHA256 only. */
export function macKeyTemplate(place: KeyPlace, profile: ModuleProfile): Attribute[] {
  const label = place === 'session' ? labelOf(place, profile) : macKeyLabel;
  return hmacTemplate(place, { label, bytes: macKeyBytes, mechanism: pkcs11js.CKM_SHA256_HMAC }, profile);
}

/** Template of a secret key that signs and verifies with one HMAC mechanism only. */
export function hmacTemplate(
  place: KeyPlace,
  { label, bytes, mechanism }: { readonly label: string; readonly bytes: number; readonly mechanism: number },
  profile: ModuleProfile,
): Attribute[] {
  return without(profile.macKey.omit, [
    { type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_SECRET_KEY },
    { type: pkcs11js.CKA_KEY_TYPE, value: macKeyTypes[profile.macKey.keyType] },
    { type: pkcs11js.CKA_VALUE_LEN, value: bytes },
    ...named(place, label, profile),
    { type: pkcs11js.CKA_TOKEN, value: place !== 'session' },
    { type: pkcs11js.CKA_PRIVATE, value: true },
    { type: pkcs11js.CKA_SENSITIVE, value: true },
    { type: pkcs11js.CKA_EXTRACTABLE, value: false },
    { type: pkcs11js.CKA_SIGN, value: true },
    { type: pkcs11js.CKA_VERIFY, value: true },
    { type: pkcs11js.CKA_ENCRYPT, value: false },
    { type: pkcs11js.CKA_DECRYPT, value: false },
    { type: pkcs11js.CKA_WRAP, value: false },
    { type: pkcs11js.CKA_UNWRAP, value: false },
    { type: pkcs11js.CKA_DERIVE, value: false },
    { type: pkcs11js.CKA_ALLOWED_MECHANISMS, value: mechanismList([mechanism]) },
  ]);
}

function named(place: KeyPlace, label: string, profile: ModuleProfile): Attribute[] {
  return [
    ...(place === 'session' || profile.idAfterGeneration ? [] : [{ type: pkcs11js.CKA_ID, value: Buffer.from(place.id, 'hex') }]),
    { type: pkcs11js.CKA_LABEL, value: label },
  ];
}

function without(omitted: readonly OmittableAttribute[], template: Attribute[]): Attribute[] {
  const types = new Set<number>(omitted.map((name) => omittableAttributes[name]));
  return template.filter(({ type }) => !types.has(type));
}

/**
 * CK_MECHANISM_TYPE array: unsigned longs in the machine's order, which is little-endian on x86-64
 * and arm64.
 */
function mechanismList(mechanisms: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * mechanisms.length);
  for (const [index, mechanism] of mechanisms.entries()) bytes.writeBigUInt64LE(BigInt(mechanism), 8 * index);
  return bytes;
}
