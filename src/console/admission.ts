import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { addressOf } from '../http/limits/connections/source-address.ts';
import { Problem } from '../http/problem.ts';

/**
 * Checks that a request comes from a browser on this machine that shows a page of the console, and
 * not from another machine or another page.
 * @param listenerHost `listeners.operations.host`, under which the console answers too
 * @throws {Problem} 403
 */
export function checkAdmission(request: IncomingMessage, listenerHost: string): void {
  if (!isFromThisMachine(addressOf(request.socket))) {
    throw new Problem(403, 'the console answers only on this machine; forward the port, for example with ssh -L');
  }
  // A name that an attacker makes resolve to this machine is refused (DNS rebinding).
  const host = request.headers.host ?? '';
  const name = /^(\[[0-9a-f:.]+\]|[^:[\]/@]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
  if (name === undefined || !namesOf(listenerHost).includes(name)) {
    throw new Problem(403, 'the console answers only under localhost, 127.0.0.1 or [::1]');
  }
}

/**
 * Checks that a request for data was made by a page of the console itself.
 * @throws {Problem} 403
 */
export function checkSameOrigin(request: IncomingMessage): void {
  const { host, origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const isOwn = (origin === undefined || origin === `http://${host ?? ''}`) && (site === undefined || site === 'same-origin');
  // Browsers send Origin with each POST, so that one without it comes from a program, which a page
  // cannot start.
  if (!isOwn) throw new Problem(403, 'this request comes from another page');
}

function namesOf(listenerHost: string): readonly string[] {
  const isWildcard = listenerHost === '0.0.0.0' || listenerHost === '::';
  const own = isWildcard ? [] : [isIP(listenerHost) === 6 ? `[${listenerHost}]` : listenerHost.toLowerCase()];
  return ['localhost', '127.0.0.1', '[::1]', ...own];
}

/** `address`: undefined for a Unix socket. */
function isFromThisMachine(address: string | undefined): boolean {
  if (address === undefined) return true;
  return address === '::1' || address.startsWith('127.');
}
