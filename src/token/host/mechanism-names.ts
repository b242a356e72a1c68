import { pkcs11js } from './session.ts';

/** Mechanisms that a profile may name, by what their vendors call them. Numbers of vendors: nShield's pkcs11extra.h, Luna's cryptoki_v2.h. */
const vendorMechanisms = {
  /** CKM_NCIPHER (0xde436972) + 0x25 */
  CKM_NC_SHA256_HMAC_KEY_GEN: 0xde436997,
  /** CKM_VENDOR_DEFINED + 0x142 and + 0x143 */
  CKM_RSA_FIPS_186_3_AUX_PRIME_KEY_PAIR_GEN: 0x80000142,
  CKM_RSA_FIPS_186_3_PRIME_KEY_PAIR_GEN: 0x80000143,
} as const;

export const rsaKeyPairMechanisms = {
  CKM_RSA_PKCS_KEY_PAIR_GEN: pkcs11js.CKM_RSA_PKCS_KEY_PAIR_GEN,
  CKM_RSA_X9_31_KEY_PAIR_GEN: pkcs11js.CKM_RSA_X9_31_KEY_PAIR_GEN,
  CKM_RSA_FIPS_186_3_AUX_PRIME_KEY_PAIR_GEN: vendorMechanisms.CKM_RSA_FIPS_186_3_AUX_PRIME_KEY_PAIR_GEN,
  CKM_RSA_FIPS_186_3_PRIME_KEY_PAIR_GEN: vendorMechanisms.CKM_RSA_FIPS_186_3_PRIME_KEY_PAIR_GEN,
} as const;
export type RsaKeyPairMechanism = keyof typeof rsaKeyPairMechanisms;

export const macKeyMechanisms = {
  CKM_GENERIC_SECRET_KEY_GEN: pkcs11js.CKM_GENERIC_SECRET_KEY_GEN,
  CKM_NC_SHA256_HMAC_KEY_GEN: vendorMechanisms.CKM_NC_SHA256_HMAC_KEY_GEN,
} as const;
export type MacKeyMechanism = keyof typeof macKeyMechanisms;

export const macKeyTypes = {
  CKK_GENERIC_SECRET: pkcs11js.CKK_GENERIC_SECRET,
  CKK_SHA256_HMAC: pkcs11js.CKK_SHA256_HMAC,
} as const;
export type MacKeyType = keyof typeof macKeyTypes;

/** Attributes that a template can do without: none that protects a key or by which it is found. */
export const omittableAttributes = {
  CKA_ALLOWED_MECHANISMS: pkcs11js.CKA_ALLOWED_MECHANISMS,
  CKA_DECRYPT: pkcs11js.CKA_DECRYPT,
  CKA_DERIVE: pkcs11js.CKA_DERIVE,
  CKA_ENCRYPT: pkcs11js.CKA_ENCRYPT,
  CKA_UNWRAP: pkcs11js.CKA_UNWRAP,
  CKA_VALUE_LEN: pkcs11js.CKA_VALUE_LEN,
  CKA_WRAP: pkcs11js.CKA_WRAP,
} as const;
export type OmittableAttribute = keyof typeof omittableAttributes;
