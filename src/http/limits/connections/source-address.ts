import { Networks } from '../../../outgoing/special-addresses.ts';

/** Groups of 16 bits in the IPv6 prefix of a host. */
const networkGroups = 4;
const groups = 8;

/**
 * Returns the address of the other end as records, logs and limits have it: an IPv4 address as such,
 * also where a socket for IPv6 has accepted the connection (RFC 4291 §2.5.5.2). Undefined for a Unix
 * socket, and for a socket that is closed.
 */
export function addressOf({ remoteAddress }: { readonly remoteAddress?: string | undefined }): string | undefined {
  return remoteAddress === undefined ? undefined : unmapped(remoteAddress);
}

function unmapped(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/**
 * Returns the address that a connection counts for: an IPv4 address for itself, also in its IPv6
 * form; an IPv6 address for its /64, all of which one host may have (RFC 6177 §2).
 */
export function sourceOf(remoteAddress: string): string {
  const address = withoutZone(unmapped(remoteAddress));
  if (!address.includes(':')) return address;
  const [before = [], after = []] = address.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: Math.max(0, groups - before.length - after.length) }, () => '0');
  return `${[...before, ...zeros, ...after].slice(0, networkGroups).join(':')}::/64`;
}

/** Whether an address of a connection is in one of some networks in CIDR notation. */
export function networks(cidrs: readonly string[]): { has(remoteAddress: string): boolean } {
  const list = new Networks(cidrs);
  return { has: (remoteAddress) => cidrs.length > 0 && remoteAddress !== '' && list.has(withoutZone(remoteAddress)) };
}

/** A link-local address names its interface (RFC 4007 §11). */
function withoutZone(remoteAddress: string): string {
  return remoteAddress.split('%', 1)[0] ?? '';
}
