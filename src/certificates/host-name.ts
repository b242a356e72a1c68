import { isIP } from 'node:net';

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const hostName = new RegExp(`^${label}(?:\\.${label})*$`);

/**
 * Returns true for a host name (RFC 1034 §3.5): labels of letters, digits and inner hyphens; no
 * wildcard, IP address or trailing dot.
 */
export function isHostName(text: string): boolean {
  return text.length <= 253 && isIP(text) === 0 && hostName.test(text);
}
