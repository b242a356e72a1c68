declare const brand: unique symbol;

/** Name of a tenant. Keys, certificates and sessions of one tenant are invisible to others. */
export type TenantId = string & { readonly [brand]: 'TenantId' };

/** Contract §8. `auditor` is reserved. */
export const roles = ['signature', 'keys', 'revocation', 'messages', 'doc2d', 'files', 'auditor'] as const;
export type Role = (typeof roles)[number];

/** Roles of an application that signs, for commands to which none are given; separated by commas. */
export const usualRoles = 'signature,keys,revocation';

/** Sender of a request, identified by a registered client certificate. */
export interface Caller {
  /** SHA-256 of the registered SubjectPublicKeyInfo, hexadecimal. */
  readonly spkiSha256: string;
  readonly name: string;
  readonly tenant: TenantId;
  readonly roles: ReadonlySet<Role>;
}

/** Brands the name of a configured tenant. */
export function tenantId(name: string): TenantId {
  return name as TenantId;
}
