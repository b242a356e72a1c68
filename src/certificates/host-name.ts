import { isIP } from 'node:net';

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const hostName = new RegExp(`^${label}(?:\\.${label})*$`);

/** RFC 1034 §3.5: labels of letters, digits and inner hyphens; no wildcard, no address, no dot at the end. */
export function isHostName(text: string): boolean {
  return text.length <= 253 && isIP(text) === 0 && hostName.test(text);
}
