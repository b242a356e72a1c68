import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AdministrationEntry } from '../audit/record.ts';
import type { Administered, Audit } from '../audit/audit.ts';
import type { StateChange } from '../audit/effect.ts';
import { isIssuedBy } from '../x509/issued-by.ts';
import { RevokedKey, type ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import { LimitsInForce } from '../config/limits-in-force.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import type { ClientCertificateRow, ClientRow, RevokedClientRow } from '../state/tables/clients.ts';
import { readClientCertificate } from './client-certificate.ts';
import { type RequestOf, CommandRefused, type Done } from './protocol.ts';
import type { ClientView, RevokedClientView } from './views.ts';

const dayMs = 24 * 60 * 60 * 1000;
const soonDays = 30;

export interface ClientCommands {
  readonly store: StateStore;
  readonly registry: ClientRegistry;
  readonly audit: Audit;
  /** Returns the current configuration. */
  readonly config: () => Config;
}

/** `limits`: those of the configuration; undefined if it cannot be used. */
export function clientView(row: ClientRow, limits: LimitsInForce | undefined): ClientView {
  const names: unknown = JSON.parse(row.roles);
  return {
    name: row.name,
    tenant: row.tenant,
    roles: Array.isArray(names) ? names.map(String) : [],
    publicKey: row.spki_sha256,
    registered: new Date(row.created_at).toISOString(),
    // A store that no service of this version has opened yet lacks the column.
    notAfter: typeof row.not_after === 'number' ? new Date(row.not_after).toISOString() : null,
    limits: limits?.ofClient(row) ?? null,
  };
}

export function revokedClientView(row: RevokedClientRow): RevokedClientView {
  const { name, tenant, spki_sha256: publicKey, registered_at: registered, revoked_at: revoked, not_after: notAfter } = row;
  return {
    ...{ name, tenant, publicKey },
    registered: new Date(registered).toISOString(),
    revoked: new Date(revoked).toISOString(),
    notAfter: notAfter === null ? null : new Date(notAfter).toISOString(),
  };
}

/** Registers a client. @throws {CommandRefused} */
export async function addClient(
  { registry, audit, config }: ClientCommands,
  { name, tenant, roles, certificate: text, replace, again }: RequestOf<'client add'>,
  entry: AdministrationEntry,
): Promise<Done> {
  return audit.administer({ ...entry, client: name, tenant, roles }, async (settlement): Promise<Administered<Done>> => {
    const { tenants, listeners } = config();
    if (!Object.hasOwn(tenants, tenant)) {
      throw new CommandRefused(`tenant: no tenant "${tenant}" is configured; configured: ${Object.keys(tenants).toSorted().join(', ')}`);
    }
    const { certificate, publicKey: spki, details } = readClientCertificate(text);
    const authority = ownAuthorityOf(certificate, config());
    // Its CRL names the certificate once the client is revoked.
    const own = { serial_number: details.serialNumber, spki_sha256: spki, not_after: certificate.validToDate.getTime(), now: Date.now() };
    const isDone = await registry
      .register(
        { certificate, name, tenant, roles },
        replace,
        [
          ...settlement({ spki: spki.slice(0, 16), certificate: details, authority, ...(again && { again }) }),
          ...(authority === undefined ? [] : [step('noteClientCertificate', { authority, ...own })]),
        ],
        again,
      )
      .catch((error: unknown) => {
        if (!(error instanceof RevokedKey)) throw error;
        throw new CommandRefused(
          `certificate: the client with this public key (${spki}) was revoked (signetctl client list --revoked); --again registers it all the same`,
        );
      });
    if (!isDone) {
      throw new CommandRefused(
        `certificate: a client with this public key (${spki}) is already registered; --replace changes its registration`,
      );
    }
    const notes = usability(certificate, listeners.api.clientCertificateAuthority);
    const notAfter = certificate.validToDate.toISOString();
    const limits = new LimitsInForce(config()).ofClient({ name, tenant });
    const client = { name, tenant, roles, publicKey: spki, registered: new Date().toISOString(), notAfter, limits } satisfies ClientView;
    return { value: { result: client, notes } };
  });
}

/**
 * Revokes a registration; once it answers, no request of the client is in progress.
 * @throws {CommandRefused}
 */
export async function revokeClient(
  { store, registry, audit, config }: ClientCommands,
  { client: wanted }: RequestOf<'client revoke'>,
  entry: AdministrationEntry,
): Promise<Done> {
  return audit.administer({ ...entry, client: wanted }, async (settlement): Promise<Administered<Done>> => {
    const rows = await store.run('listClients');
    const found = clientsNamed(rows, wanted);
    const [row, another] = found;
    if (row === undefined) throw new CommandRefused(`client: no client "${wanted}" is registered`);
    if (another !== undefined) {
      const each = found.map(async (one) => registrationWords(one, await store.run('clientCertificatesOf', one.spki_sha256)));
      throw new CommandRefused(
        `client: ${found.length} clients have the name "${wanted}"; name one by its public key: ${(await Promise.all(each)).join('; ')}`,
      );
    }
    const view = clientView(row, new LimitsInForce(config()));
    const said = { client: row.name, tenant: row.tenant, roles: view.roles, spki: row.spki_sha256.slice(0, 16) };
    const now = store.now();
    const change = clientRevocation(row, await store.run('clientCertificatesOf', row.spki_sha256), now);
    if (!(await registry.revoke(row.spki_sha256, settlement(said, change), now))) {
      throw new CommandRefused(`client: "${wanted}" was revoked concurrently`);
    }
    return { value: { result: view } };
  });
}

/**
 * What tells a client from another one with the same name; `issued`: its certificates of a CA of
 * this service.
 */
function registrationWords(
  { spki_sha256: publicKey, created_at: registered, not_after: notAfter }: ClientRow,
  issued: readonly ClientCertificateRow[],
): string {
  const words = [
    `registered ${new Date(registered).toISOString()}`,
    ...(typeof notAfter === 'number' ? [`certificate valid until ${new Date(notAfter).toISOString()}`] : []),
    ...(issued.length === 0 ? [] : [`serial number ${issued.map((one) => numberIn(one.serial_number)).join(', ')}`]),
  ];
  return `${publicKey} (${words.join(', ')})`;
}

/**
 * Returns a serial number as other programs show it: the octets of the INTEGER may begin with one
 * for the sign (X.690 §8.3).
 */
function numberIn(octets: string): string {
  return octets.replace(/^00(?=[89a-f])/, '');
}

/**
 * Returns the clients with this public key, or else those with this name: no name hides the client
 * with that public key.
 */
export function clientsNamed<Row extends Pick<ClientRow, 'name' | 'spki_sha256'>>(rows: readonly Row[], wanted: string): readonly Row[] {
  const byKey = rows.filter(({ spki_sha256: key }) => key === wanted);
  return byKey.length > 0 ? byKey : rows.filter(({ name }) => name === wanted);
}

/** Reads the registered clients again, after the state store was changed by hand. */
export async function reloadClients({ store, registry, audit }: ClientCommands, entry: AdministrationEntry): Promise<Done> {
  return audit.administer(entry, async () => {
    await registry.load();
    return { value: { result: { clients: (await store.run('listClients')).length } } };
  });
}

/** Returns what an older state store would lack of a revocation. */
function clientRevocation(client: ClientRow, rows: readonly ClientCertificateRow[], now: number): StateChange {
  const certificates = rows.map(({ authority, serial_number: serialNumber, not_after: notAfter }) => ({
    authority,
    serialNumber,
    notAfter,
  }));
  const { spki_sha256: publicKey, created_at: registered, not_after: notAfter } = client;
  return { kind: 'client revocation', date: Math.floor(now / 1000) * 1000, certificates, publicKey, at: now, registered, notAfter };
}

/** Returns this service's own CA of clients if it issued a certificate. */
function ownAuthorityOf(certificate: X509Certificate, { clientAuthority }: Config): string | undefined {
  if (clientAuthority === undefined) return undefined;
  return isIssuedBy(certificate, new X509Certificate(readFileSync(clientAuthority.certificate))) ? clientAuthority.name : undefined;
}

/** Notes why connections with this certificate are refused, or soon will be. */
function usability(certificate: X509Certificate, authorityFile: string): string[] {
  const notes: string[] = [];
  const left = certificate.validToDate.getTime() - Date.now();
  if (left <= 0) notes.push(`the certificate expired on ${certificate.validToDate.toISOString()}: its connections are refused`);
  else if (left < soonDays * dayMs) notes.push(`the certificate expires on ${certificate.validToDate.toISOString()}`);
  const authorities = readFileSync(authorityFile, 'latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const isIssued = authorities.some((pem) => {
    return isIssuedBy(certificate, new X509Certificate(pem));
  });
  if (!isIssued) {
    notes.push(
      'none of the authorities in listeners.api.clientCertificateAuthority issued the certificate: its connections are refused until the authority that issued it is added to that file (CA certificates that the client sends do not count)',
    );
  }
  return notes;
}
