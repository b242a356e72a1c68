import type { X509Certificate } from 'node:crypto';
import { authorityKey, type SignedList } from './client-trust.ts';
import { TlsMaterialError } from './revocation-lists.ts';

/** Returns each CA once, whatever the number of its certificates. */
export function eachAuthority(authorities: readonly X509Certificate[]): X509Certificate[] {
  return [...new Map(authorities.map((authority) => [authorityKey(authority), authority])).values()];
}

/** Returns the newest CRL of each CA. */
export function newestLists(lists: readonly SignedList[]): SignedList[] {
  const ascending = lists.toSorted((one, other) => one.thisUpdate.getTime() - other.thisUpdate.getTime());
  return [...new Map(ascending.map((list) => [authorityKey(list.authority), list])).values()];
}

/**
 * Refuses a CRL that is worse than none or than the one of the same CA in force.
 * @throws {TlsMaterialError} if it has expired, is not valid yet, or is older than that one: an older
 *   list would accept again a client that was revoked since
 */
export function refuseUnusable(list: SignedList, inForce: SignedList | undefined, nowMs = Date.now()): void {
  const name = nameOfList(list);
  if (list.nextUpdate.getTime() <= nowMs) throw new TlsMaterialError(`${name} expired on ${list.nextUpdate.toISOString()}`);
  if (list.thisUpdate.getTime() > nowMs) throw new TlsMaterialError(`${name} is not valid before ${list.thisUpdate.toISOString()}`);
  if (inForce === undefined) return;
  if (inForce.thisUpdate > list.thisUpdate)
    throw new TlsMaterialError(
      `${name} is of ${list.thisUpdate.toISOString()}: there is one of ${inForce.thisUpdate.toISOString()} in force`,
    );
  if (inForce.number !== undefined && list.number !== undefined && inForce.number > list.number)
    throw new TlsMaterialError(`${name} has the number ${list.number}: there is one with the number ${inForce.number} in force`);
}

export function nameOfList({ authority }: Pick<SignedList, 'authority'>): string {
  return `the CRL of ${nameOfAuthority(authority)}`;
}

export function nameOfAuthority({ subject }: X509Certificate): string {
  return subject.replaceAll('\n', ', ');
}
