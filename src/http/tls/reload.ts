import type { Server } from 'node:https';
import type { Config } from '../../config/config.ts';
import type { Switch } from '../../config/reloader.ts';
import type { Logger } from '../../telemetry/log.ts';
import { isInLastFifth } from '../../x509/last-fifth.ts';
import { authorityKey, type AuthorityList, type SignedList } from './client-trust.ts';
import type { ConnectionTrust } from './connection-trust.ts';
import { readTlsMaterial, withFetchedLists, type TlsMaterial } from './material.ts';
import { nameOfAuthority, nameOfList, refuseUnusable } from './newest-lists.ts';
import { TlsMaterialError } from './revocation-lists.ts';

type ApiListener = Config['listeners']['api'];

/** What a listener has in force before anything was reloaded. */
export interface InForce {
  readonly material: TlsMaterial;
  /** Returns the CRLs that were fetched so far. */
  readonly fetched: () => readonly SignedList[];
}

/** The TLS files and CRLs that a running listener has in force, and their replacement. */
export class ReloadableTls {
  readonly #server: Server;
  readonly #connections: ConnectionTrust;
  readonly #log: Logger;
  readonly #fetched: () => readonly SignedList[];
  #inForce: TlsMaterial;

  constructor(server: Server, connections: ConnectionTrust, { material, fetched }: InForce, log: Logger) {
    this.#server = server;
    this.#connections = connections;
    this.#fetched = fetched;
    this.#inForce = material;
    this.#log = log;
    if (material.lists === undefined)
      log.warn(
        'client certificates are not checked for revocation: listeners.api.clientRevocationLists and clientRevocationUrls are empty; signetctl client revoke keeps a client out',
      );
  }

  /** When the server's certificate ends, in milliseconds since the epoch. */
  get certificateEndsMs(): number {
    return this.#inForce.certificate.validToDate.getTime();
  }

  /**
   * When the first of the clients' CRLs ends; undefined where revocation is not checked, and 0 while
   * a CA has none.
   */
  get revocationListEndsMs(): number | undefined {
    return this.#inForce.trust.nextUpdateMs;
  }

  /** Each CA of the clients with the CRL that counts; none where revocation is not checked. */
  get authorityLists(): readonly AuthorityList[] {
    return this.#inForce.trust.authorityLists ?? [];
  }

  /** The CRLs in the files in force. */
  get fileLists(): readonly SignedList[] {
    return this.#inForce.lists ?? [];
  }

  /** Returns why no client, or none of some CA, can be served now. */
  faults(): Record<string, string> {
    const now = Date.now();
    const without = this.authorityLists.filter(({ list }) => list === undefined).map(({ authority }) => nameOfAuthority(authority));
    const clients =
      without.length > 0
        ? `there is no CRL of ${without.join('; ')} yet: its clients are refused`
        : (this.revocationListEndsMs ?? Infinity) <= now
          ? 'a CRL of the client CAs has expired: its clients are refused'
          : undefined;
    return {
      ...(this.certificateEndsMs <= now ? { certificate: 'the certificate of the API has expired' } : {}),
      ...(clients === undefined ? {} : { clients }),
    };
  }

  /** Returns what will be a fault soon: a certificate or a CRL in the last fifth of its time. */
  warnings(): Record<string, string> {
    const now = Date.now();
    const { certificate } = this.#inForce;
    const warnings: Record<string, string> = {};
    if (isInLastFifth(certificate.validFromDate, certificate.validToDate, now)) {
      warnings['certificate'] = `the certificate of the API expires on ${certificate.validToDate.toISOString()}`;
    }
    const ending = this.authorityLists.find(({ list }) => list !== undefined && isInLastFifth(list.thisUpdate, list.nextUpdate, now))?.list;
    if (ending !== undefined) warnings['clients'] = `${nameOfList(ending)} expires on ${ending.nextUpdate.toISOString()}`;
    return warnings;
  }

  /** Puts the CRLs in force that were fetched, for new connections and for open ones. */
  takeFetched(): void {
    const before = new Map(this.authorityLists.map(({ authority, list }) => [authorityKey(authority), list]));
    this.#inForce = withFetchedLists(this.#inForce, this.#fetched());
    this.#connections.trust(this.#inForce.trust);
    for (const { authority, list } of this.authorityLists) {
      if (list === undefined || before.get(authorityKey(authority))?.der === list.der) continue;
      this.#log.info('a fetched CRL of a client CA is in force', listSummary(list));
    }
  }

  /**
   * Reads the files that the configuration names now. The switch puts them in force, for new
   * connections and, where they say whom to trust, for open ones.
   * @throws {TlsMaterialError} for files that cannot be used, and for those that are worse than
   *   what is in force: a server's certificate that is not valid now, a CRL that has expired or is
   *   older than the one of the same CA
   */
  prepare(listener: ApiListener): Switch {
    const material = readTlsMaterial(listener, this.#fetched());
    refuseOutdated(material, listener.certificate);
    this.#refuseWorse(material);
    return () => {
      // Meanwhile newer ones may have been fetched.
      this.#inForce = withFetchedLists(material, this.#fetched());
      this.#server.setSecureContext(material.context);
      this.#connections.trust(this.#inForce.trust);
      this.#log.info('the TLS files of the API are in force', summary(this.#inForce));
    };
  }

  /** @throws {TlsMaterialError} for a CA whose CRL would be worse than now, or missing */
  #refuseWorse({ trust, lists }: TlsMaterial): void {
    const before = new Map(this.authorityLists.map(({ authority, list }) => [authorityKey(authority), { list }]));
    for (const { authority, list } of trust.authorityLists ?? []) {
      const known = before.get(authorityKey(authority));
      if (list === undefined) {
        if (known === undefined || known.list !== undefined)
          throw new TlsMaterialError(`there is no CRL of ${nameOfAuthority(authority)}: each CA of the clients needs one`);
      } else if (lists?.includes(list) === true) refuseUnusable(list, known?.list);
    }
  }
}

function refuseOutdated({ certificate }: TlsMaterial, file: string): void {
  const now = Date.now();
  if (certificate.validToDate.getTime() <= now)
    throw new TlsMaterialError(`${file}: the certificate expired on ${certificate.validToDate.toISOString()}`);
  if (certificate.validFromDate.getTime() > now) {
    throw new TlsMaterialError(`${file}: the certificate is not valid before ${certificate.validFromDate.toISOString()}`);
  }
}

function summary({ certificate, trust }: TlsMaterial): Record<string, unknown> {
  return {
    certificate: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    notAfter: certificate.validToDate.toISOString(),
    revocationLists: (trust.authorityLists ?? []).flatMap(({ list }) => (list === undefined ? [] : [listSummary(list)])),
  };
}

function listSummary({ authority, nextUpdate, revoked }: SignedList): Record<string, unknown> {
  return { authority: nameOfAuthority(authority), nextUpdate: nextUpdate.toISOString(), revoked: revoked.size };
}
