/**
 * Names that a profile may use, with their numbers in PKCS#11 (v2.40, pkcs11t.h). They are written
 * out because the host's main thread reads profiles and does not load the binding. Vendor numbers
 * are from nShield's and Luna's headers.
 */
export const rsaKeyPairMechanisms = {
  CKM_RSA_PKCS_KEY_PAIR_GEN: 0x0,
  CKM_RSA_X9_31_KEY_PAIR_GEN: 0xa,
  CKM_RSA_FIPS_186_3_AUX_PRIME_KEY_PAIR_GEN: 0x80000142,
  CKM_RSA_FIPS_186_3_PRIME_KEY_PAIR_GEN: 0x80000143,
} as const;
export type RsaKeyPairMechanism = keyof typeof rsaKeyPairMechanisms;

export const macKeyMechanisms = {
  CKM_GENERIC_SECRET_KEY_GEN: 0x350,
  CKM_SHA256_KEY_GEN: 0x4005,
  CKM_NC_SHA256_HMAC_KEY_GEN: 0xde436997,
} as const;
export type MacKeyMechanism = keyof typeof macKeyMechanisms;

export const macKeyTypes = {
  CKK_GENERIC_SECRET: 0x10,
  CKK_SHA256_HMAC: 0x2b,
} as const;
export type MacKeyType = keyof typeof macKeyTypes;

/** Attributes that a template may omit: none that protects a key or identifies it. */
export const omittableAttributes = {
  CKA_ALLOWED_MECHANISMS: 0x40000600,
  CKA_DECRYPT: 0x105,
  CKA_DERIVE: 0x10c,
  CKA_ENCRYPT: 0x104,
  CKA_UNWRAP: 0x107,
  CKA_VALUE_LEN: 0x161,
  CKA_WRAP: 0x106,
} as const;
export type OmittableAttribute = keyof typeof omittableAttributes;
