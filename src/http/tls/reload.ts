import type { X509Certificate } from 'node:crypto';
import type { Server } from 'node:https';
import type { Config } from '../../config/config.ts';
import type { Switch } from '../../config/reloader.ts';
import type { Logger } from '../../telemetry/log.ts';
import { isInLastFifth } from '../../x509/last-fifth.ts';
import type { ConnectionTrust } from './connection-trust.ts';
import type { SignedList } from './client-trust.ts';
import { readTlsMaterial, type TlsMaterial } from './material.ts';
import { TlsMaterialError } from './revocation-lists.ts';

type ApiListener = Config['listeners']['api'];

/** The TLS files that a running listener has in force, and their replacement. */
export class ReloadableTls {
  readonly #server: Server;
  readonly #connections: ConnectionTrust;
  readonly #log: Logger;
  #inForce: TlsMaterial;

  constructor(server: Server, connections: ConnectionTrust, inForce: TlsMaterial, log: Logger) {
    this.#server = server;
    this.#connections = connections;
    this.#inForce = inForce;
    this.#log = log;
    if (inForce.lists === undefined)
      log.warn(
        'client certificates are not checked for revocation: listeners.api.clientRevocationLists is empty; signetctl client revoke keeps a client out',
      );
  }

  /** When the server's certificate ends, in milliseconds since the epoch. */
  get certificateEndsMs(): number {
    return this.#inForce.certificate.validToDate.getTime();
  }

  /** When the first of the clients' CRLs ends; undefined where revocation is not checked. */
  get revocationListEndsMs(): number | undefined {
    return this.#inForce.trust.nextUpdateMs;
  }

  /** Returns why no client, or none of some CA, can be served now. */
  faults(): Record<string, string> {
    const now = Date.now();
    return {
      ...(this.certificateEndsMs <= now ? { certificate: 'the certificate of the API has expired' } : {}),
      ...((this.revocationListEndsMs ?? Infinity) <= now
        ? { clients: 'a CRL of the client CAs has expired: its clients are refused' }
        : {}),
    };
  }

  /** Returns what will be a fault soon: a certificate or a CRL in the last fifth of its time. */
  warnings(): Record<string, string> {
    const now = Date.now();
    const { certificate, lists = [] } = this.#inForce;
    const warnings: Record<string, string> = {};
    if (isInLastFifth(certificate.validFromDate, certificate.validToDate, now)) {
      warnings['certificate'] = `the certificate of the API expires on ${certificate.validToDate.toISOString()}`;
    }
    const [ending] = lists.filter(({ thisUpdate, nextUpdate }) => isInLastFifth(thisUpdate, nextUpdate, now));
    if (ending !== undefined) warnings['clients'] = `${nameOf(ending)} expires on ${ending.nextUpdate.toISOString()}`;
    return warnings;
  }

  /**
   * Reads the files that the configuration names now. The switch puts them in force, for new
   * connections and, where they say whom to trust, for open ones.
   * @throws {TlsMaterialError} for files that cannot be used, and for those that are worse than
   *   what is in force: a server's certificate that is not valid now, a CRL that has expired or is
   *   older than the one of the same CA
   */
  prepare(listener: ApiListener): Switch {
    const material = readTlsMaterial(listener);
    refuseOutdated(material, this.#inForce.lists, listener.certificate);
    return () => {
      this.#server.setSecureContext(material.context);
      this.#connections.trust(material.trust);
      this.#inForce = material;
      this.#log.info('the TLS files of the API are in force', summary(material));
    };
  }
}

function refuseOutdated({ certificate, lists = [] }: TlsMaterial, inForce: readonly SignedList[] = [], file: string): void {
  const now = Date.now();
  if (certificate.validToDate.getTime() <= now)
    throw new TlsMaterialError(`${file}: the certificate expired on ${certificate.validToDate.toISOString()}`);
  if (certificate.validFromDate.getTime() > now) {
    throw new TlsMaterialError(`${file}: the certificate is not valid before ${certificate.validFromDate.toISOString()}`);
  }
  for (const list of lists) {
    const name = nameOf(list);
    if (list.nextUpdate.getTime() <= now) throw new TlsMaterialError(`${name} expired on ${list.nextUpdate.toISOString()}`);
    if (list.thisUpdate.getTime() > now) throw new TlsMaterialError(`${name} is not valid before ${list.thisUpdate.toISOString()}`);
    const newer = inForce.find((old) => sameAuthority(old.authority, list.authority) && old.thisUpdate > list.thisUpdate);
    // An older list would accept again a client that was revoked since.
    if (newer !== undefined)
      throw new TlsMaterialError(
        `${name} is of ${list.thisUpdate.toISOString()}: there is one of ${newer.thisUpdate.toISOString()} in force`,
      );
  }
}

function nameOf({ authority }: SignedList): string {
  return `the CRL of ${authority.subject.replaceAll('\n', ', ')}`;
}

function sameAuthority(one: X509Certificate, other: X509Certificate): boolean {
  return one.subject === other.subject && one.publicKey.equals(other.publicKey);
}

function summary({ certificate, lists = [] }: TlsMaterial): Record<string, unknown> {
  return {
    certificate: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    notAfter: certificate.validToDate.toISOString(),
    revocationLists: lists.map(({ authority, nextUpdate, revoked }) => ({
      authority: authority.subject.replaceAll('\n', ', '),
      nextUpdate: nextUpdate.toISOString(),
      revoked: revoked.size,
    })),
  };
}
