declare const brand: unique symbol;

/** Name of a tenant. Keys, certificates and sessions of one tenant do not exist for another. */
export type TenantId = string & { readonly [brand]: 'TenantId' };

/** Contract §8. `auditor` is reserved. */
export const roles = ['signature', 'keys', 'revocation', 'messages', 'doc2d', 'files', 'auditor'] as const;
export type Role = (typeof roles)[number];

/** Who sent a request: a registered client certificate. */
export interface Caller {
  /** SHA-256 of the SubjectPublicKeyInfo that it is registered by, hexadecimal. */
  readonly spkiSha256: string;
  readonly name: string;
  readonly tenant: TenantId;
  readonly roles: ReadonlySet<Role>;
}

/** Takes the name of a tenant that the configuration lists. */
export function tenantId(name: string): TenantId {
  return name as TenantId;
}
