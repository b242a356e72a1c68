import type { Config } from '../../config/config.ts';
import { canDecrypt } from '../../config/encrypted-credential.ts';
import { userNumber } from '../../service/native.ts';
import { loadProfile, modulePath } from '../../token/host/module-profile.ts';
import { environmentFaults, pinFaults, sessionFaults } from '../../token/host/start-conditions.ts';
import { pinFrom } from '../../token/operator/token-failure.ts';
import type { Findings, Place } from './findings.ts';

/**
 * The path of a Unix socket has at most 107 bytes; the sockets of threads add a dot and up to two
 * digits.
 */
const maxSocketPathBytes = 104;

/** Checks everything that the token host checks before it loads the module. */
export function checkToken({ token }: Config, findings: Findings): void {
  checkSocketPath(findings.at('token.socketPath'), token.socketPath);
  const { clientUser } = token;
  if (clientUser !== undefined) findings.at('token.clientUser').tryTo(() => userNumber(clientUser));
  const pin = pinOf(token.pin, findings);
  const profile = findings.at('token.profile').tryTo(() => loadProfile(token.profile));
  if (profile === undefined) return;
  findings.at(token.modulePath === undefined ? 'token.profile' : 'token.modulePath').tryTo(() => modulePath(token, profile));
  for (const fault of [...sessionFaults(token.threads, profile), ...(pin === undefined ? [] : pinFaults(profile, pin))])
    findings.addFault(fault);
  pin?.fill(0);
  // The unit of an external host may set variables that are missing here.
  for (const fault of environmentFaults(profile, token.environment)) {
    if (token.host === 'external') findings.addNote(fault);
    else findings.addFault(fault);
  }
}

function pinOf(reference: string, findings: Findings): Buffer | undefined {
  const place = findings.at('token.pin');
  const isVisible = process.env['CREDENTIALS_DIRECTORY'] !== undefined || canDecrypt(reference.slice('credential:'.length));
  if (!reference.startsWith('credential:') || isVisible) return place.tryTo(() => pinFrom(reference));
  place.note(`${reference} is not checked: systemd gives credentials only to its services`);
  return undefined;
}

export function checkSocketPath(place: Place, path: string): void {
  if (Buffer.byteLength(path) > maxSocketPathBytes)
    place.fault(`${path}: the path of this socket must have at most ${maxSocketPathBytes} bytes`);
}
