import { readFileSync } from 'node:fs';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { commonName, issueTlsCertificate, type TlsCertificateRequest } from '../../certificates/tls-certificate.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import type { Token } from '../../token/token.ts';
import { certificatesIn } from '../../x509/pem.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';

const serialNumberBytes = 16;
const maxDays = 3660;

export type ClientAuthority = NonNullable<Config['clientAuthority']>;

/**
 * Returns the CA on the token that issues certificates of clients.
 * @throws {CommandError} if there is none, or the API does not accept its certificates
 */
export function clientAuthorityOf(configPath: string): ClientAuthority {
  const { listeners } = loadConfig(configPath);
  const authority = tlsAuthorityOf(configPath);
  const accepted = certificatesIn(readFileSync(listeners.api.clientCertificateAuthority, 'latin1'));
  const [own] = certificatesIn(readFileSync(authority.certificate, 'latin1'));
  if (own !== undefined && accepted.some((one) => Buffer.compare(one, own) === 0)) return authority;
  throw new CommandError(
    exitCodes.refused,
    'listeners.api.clientCertificateAuthority does not have the CA of clientAuthority: your own CA issues the certificates of clients, and signetctl client add registers them',
  );
}

/** Returns the CA on the token for TLS. @throws {CommandError} if the configuration has none */
export function tlsAuthorityOf(configPath: string): ClientAuthority {
  const { clientAuthority } = loadConfig(configPath);
  if (clientAuthority !== undefined) return clientAuthority;
  throw new CommandError(
    exitCodes.refused,
    'the configuration has no clientAuthority: your own CA issues the certificates of clients, and signetctl client add registers them',
  );
}

/** Issues a certificate with the key of a CA on the token. Returns DER. */
export async function certified(
  token: Token,
  { certificate, keyId, urls }: Pick<ClientAuthority, 'certificate' | 'keyId'> & Partial<Pick<ClientAuthority, 'urls'>>,
  request: Omit<TlsCertificateRequest, 'serialNumber' | 'crlUrls'>,
): Promise<Uint8Array> {
  const issuer = loadAuthority(token, { certificate, chain: [], keyId });
  const crlUrls = request.end === 'client' ? (urls?.crl ?? []) : [];
  return issueTlsCertificate(issuer, { ...request, crlUrls, serialNumber: await token.random(serialNumberBytes) });
}

/** Returns the DER of a Name with only a common name. @throws {CommandError} */
export function commonNameOf(text: string, option: string): Uint8Array {
  const name = commonName(text);
  if (name !== undefined) return name;
  throw new CommandError(
    exitCodes.usage,
    `${option}: a common name has 1 to 64 characters, no control characters, and no space at its ends`,
  );
}

/** @throws {CommandError} */
export function daysOf(text: string, option: string): number {
  const days = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Infinity;
  if (days > maxDays) throw new CommandError(exitCodes.usage, `${option} takes a number of days from 1 to ${maxDays}`);
  return days;
}
