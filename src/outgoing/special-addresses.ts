import { BlockList, isIP } from 'node:net';

/** Special-purpose addresses (IANA registries of RFC 6890, multicast, and what stands for others), which no public server has. */
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
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const) {
  special.addSubnet(network, prefix, 'ipv6');
}

/** Networks in CIDR notation, such as `10.0.0.0/8` or `::1/128`. */
export class Networks {
  readonly #list = new BlockList();

  /** @throws {RangeError} for anything else */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const [address = '', prefix = ''] = text.split('/');
      const version = isIP(address);
      if (version === 0 || !/^\d{1,3}$/.test(prefix)) throw new RangeError(`${text} is no network such as 10.0.0.0/8`);
      this.#list.addSubnet(address, Number(prefix), version === 4 ? 'ipv4' : 'ipv6');
    }
  }

  has(address: string): boolean {
    return this.#list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
}

/** Whether an address is one of the public Internet. IPv4 addresses inside of IPv6 ones count as what they are. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && !special.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
