/** Types of keys that signetd makes. */
export const keyTypes = ['RSA-2048', 'RSA-3072', 'RSA-4096', 'P-256', 'P-384', 'P-521'] as const;
export type KeyType = (typeof keyTypes)[number];
