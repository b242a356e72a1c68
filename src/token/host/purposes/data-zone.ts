import { maxZoneBytes } from '../../wire/sign-message.ts';
import type { ServedBy } from './purposes.ts';
import { checkCertificationRequest } from './certificate.ts';
import { checkDer, DerWalk, NotFit, tags } from './der-walk.ts';

/**
 * Header of a data zone of 2D-Doc (ANTS, Spécifications techniques des codes à barres 2D-Doc,
 * v3.2.6, §3.3): marker, version, CA, certificate, date of issue, date of signature, type; version
 * 03 adds the perimeter, version 04 the country too. Version 01 is no longer signed.
 */
const header = /^DC(?:02[0-9A-Z]{8}[0-9A-F]{8}[0-9A-Z]{2}|03[0-9A-Z]{8}[0-9A-F]{8}[0-9A-Z]{4}|04[0-9A-Z]{8}[0-9A-F]{8}[0-9A-Z]{4}[A-Z]{2})/;
const space = 0x20;
const tilde = 0x7e;
/** GS ends a field of variable length, RS one that was truncated (§3.4). */
const separators: ReadonlySet<number> = new Set([0x1d, 0x1e]);

/**
 * Returns why the key of a digital identity does not sign this message; undefined if it does. It
 * signs data zones; for an operator's command, also the request for its certificate. The message is
 * untrusted.
 */
export function identityFault(message: Buffer, servedBy: ServedBy): string | undefined {
  try {
    if (servedBy === 'operator' && message[0] === tags.sequence) checkRequest(message);
    else checkDataZone(message);
    return undefined;
  } catch (error) {
    if (error instanceof NotFit) return `the key of a digital identity does not sign this: ${error.message}`;
    throw error;
  }
}

/**
 * Checks for the form of a data zone: its header, and characters of a message. The fields are not
 * judged.
 * @throws {NotFit}
 */
function checkDataZone(message: Buffer): void {
  if (message.length > maxZoneBytes) throw new NotFit(`it has more than ${maxZoneBytes} bytes`);
  if (!header.test(message.toString('latin1', 0, 26))) throw new NotFit('it does not begin with the header of a data zone of 2D-Doc');
  for (const byte of message) {
    if ((byte < space || byte > tilde) && !separators.has(byte)) throw new NotFit('it has a character that no data zone has');
  }
}

function checkRequest(message: Buffer): void {
  checkDer(message);
  checkCertificationRequest(new DerWalk(message).inside(tags.sequence, 'CertificationRequestInfo'));
}
