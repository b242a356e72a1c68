import { BlockList, isIP } from 'node:net';

/**
 * Special-purpose addresses (IANA registries of RFC 6890, multicast, and translation prefixes),
 * which no public server has.
 */
const special = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  special.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  special.addSubnet(network, prefix, 'ipv6');
}
/**
 * For IPv6, servers only have global unicast addresses (IANA, IPv6 address space); an IPv4-mapped
 * address is checked as the IPv4 address.
 */
const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');
global.addSubnet('::ffff:0:0', 96, 'ipv6');

/** Networks in CIDR notation, such as `10.0.0.0/8` or `::1/128`. */
export class Networks {
  readonly #list = new BlockList();

  /** @throws {RangeError} for other notations */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const [address = '', prefix = ''] = text.split('/');
      const version = isIP(address);
      if (version === 0 || !/^\d{1,3}$/.test(prefix)) throw new RangeError(`${text} is not a network in CIDR notation, such as 10.0.0.0/8`);
      this.#list.addSubnet(address, Number(prefix), version === 4 ? 'ipv4' : 'ipv6');
    }
  }

  has(address: string): boolean {
    return this.#list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
}

/**
 * Checks whether an address belongs to the public Internet. Other IPv6 forms that embed an IPv4
 * address do not.
 */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !special.check(address, 'ipv4');
  return version === 6 && global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
