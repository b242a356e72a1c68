import { BlockList, isIP } from 'node:net';

const portMax = 65_535;

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

/**
 * Networks in CIDR notation, such as `10.0.0.0/8` or `::1/128`, with all their ports or, as in
 * `10.0.0.0/8:8080`, with one.
 */
export class Networks {
  readonly #allPorts = new BlockList();
  readonly #ofPort = new Map<number, BlockList>();

  /** @throws {RangeError} for other notations */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const [, address = '', prefix = '', port] = /^([0-9a-f.:]+)\/(\d{1,3})(?::(\d{1,5}))?$/i.exec(text) ?? [];
      const version = isIP(address);
      if (version === 0 || Number(port ?? 1) < 1 || Number(port ?? 1) > portMax)
        throw new RangeError(`${text} is not a network in CIDR notation, such as 10.0.0.0/8 or 10.0.0.0/8:8080`);
      const list = port === undefined ? this.#allPorts : (this.#ofPort.get(Number(port)) ?? new BlockList());
      list.addSubnet(address, Number(prefix), version === 4 ? 'ipv4' : 'ipv6');
      if (port !== undefined) this.#ofPort.set(Number(port), list);
    }
  }

  /** `port`: absent for an address as such, to which entries with a port do not apply. */
  has(address: string, port?: number): boolean {
    const version = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    return this.#allPorts.check(address, version) || (port !== undefined && this.#ofPort.get(port)?.check(address, version) === true);
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
