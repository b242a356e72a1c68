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

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const mailbox = new RegExp(
  `^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?=.{1,253}$)(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`,
);

/**
 * Returns true for an ASCII mailbox (RFC 5321 §4.1.2) with a dot-string before the `@` and a fully
 * qualified domain (§2.3.5) after it, of at most 254 octets (§4.5.3.1.3). Quoted local parts and
 * address literals are not supported: no caller has a legitimate use for them.
 */
export function isMailbox(text: string): boolean {
  return text.length <= 254 && mailbox.test(text);
}
