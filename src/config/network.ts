import { isIP } from 'node:net';
import { z } from 'zod';

/** Bits of an address, by the version of IP. */
const bitsOf: Readonly<Record<number, number>> = { 4: 32, 6: 128 };

/**
 * Schema of a network in CIDR notation. Its address has no bit beyond the prefix (RFC 4632 §3.1):
 * one that has may be meant as a single address or as the whole network, which differ in what they
 * allow.
 * @param form expression with the groups address, prefix and, where there may be one, port
 */
export function networkOf(form: RegExp, message: string): z.ZodType<string, string> {
  return z.string().superRefine((text, context) => {
    const { address = '', prefix = '', port } = form.exec(text)?.groups ?? {};
    const bits = bitsOf[isIP(address)] ?? -1;
    if (prefix === '' || Number(prefix) > bits || (port !== undefined && !isPort(port))) {
      context.addIssue({ code: 'custom', message });
      return;
    }
    const rest = port === undefined ? '' : `:${port}`;
    const network = networkAddress(address, Number(prefix));
    if (network !== shortest(address))
      context.addIssue({
        code: 'custom',
        message: `${address} has bits beyond its prefix: write ${network}/${prefix}${rest} for the network, or ${address}/${bits}${rest} for this address alone`,
      });
  });
}

export function isPort(text: string): boolean {
  return Number(text) >= 1 && Number(text) <= 65_535;
}

/** The first address of a network, in its shortest form. */
function networkAddress(address: string, prefix: number): string {
  const [bits, unit] = isIP(address) === 4 ? [32, 8] : [128, 16];
  const value = groupsOf(address).reduce((sum, group) => (sum << BigInt(unit)) | BigInt(group), 0n);
  const first = (value >> BigInt(bits - prefix)) << BigInt(bits - prefix);
  const groups = Array.from({ length: bits / unit }, (_, index) => BigInt.asUintN(unit, first >> BigInt(bits - unit * (index + 1))));
  return unit === 8 ? groups.join('.') : shortest(groups.map((group) => group.toString(16)).join(':'));
}

/** The bytes of an IPv4 address, the groups of 16 bits of an IPv6 address. */
function groupsOf(address: string): number[] {
  if (isIP(address) === 4) return address.split('.').map(Number);
  const halves = shortest(address)
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':').map((group) => Number.parseInt(group, 16))));
  const [left = [], right = []] = halves;
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}

/** An address as RFC 5952 writes it, but an IPv4-mapped one in hexadecimal. */
function shortest(address: string): string {
  return isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}
