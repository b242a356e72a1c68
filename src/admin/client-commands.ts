import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AdministrationEntry } from '../audit/record.ts';
import { certificateDetails } from '../audit/announced-uses.ts';
import type { Administered, Audit } from '../audit/audit.ts';
import { readCertificate as readDer } from '../x509/certificate.ts';
import { isIssuedBy } from '../x509/issued-by.ts';
import { RevokedKey, spkiSha256, type ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import { LimitsInForce } from '../config/limits-in-force.ts';
import type { StateStore } from '../state/state-store.ts';
import type { ClientRow, RevokedClientRow } from '../state/tables/clients.ts';
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
    const certificate = readCertificate(text);
    const spki = spkiSha256(certificate);
    const isDone = await registry
      .register(
        { certificate, name, tenant, roles },
        replace,
        settlement({ spki: spki.slice(0, 16), certificate: certificateDetails(readDer(certificate.raw)), ...(again && { again }) }),
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
    const found = rows.filter((row) => row.spki_sha256 === wanted || row.name === wanted);
    const [row, another] = found;
    if (row === undefined) throw new CommandRefused(`client: no client "${wanted}" is registered`);
    if (another !== undefined) {
      throw new CommandRefused(
        `client: ${found.length} clients have the name "${wanted}"; name one by its public key: ${found.map((one) => one.spki_sha256).join(', ')}`,
      );
    }
    const view = clientView(row, new LimitsInForce(config()));
    const said = { client: row.name, tenant: row.tenant, roles: view.roles, spki: row.spki_sha256.slice(0, 16) };
    if (!(await registry.revoke(row.spki_sha256, settlement(said)))) {
      throw new CommandRefused(`client: "${wanted}" was revoked concurrently`);
    }
    return { value: { result: view } };
  });
}

/** Reads the registered clients again, after the state store was changed by hand. */
export async function reloadClients({ store, registry, audit }: ClientCommands, entry: AdministrationEntry): Promise<Done> {
  return audit.administer(entry, async () => {
    await registry.load();
    return { value: { result: { clients: (await store.run('listClients')).length } } };
  });
}

/** @throws {CommandRefused} */
function readCertificate(text: string): X509Certificate {
  try {
    return new X509Certificate(Buffer.from(text, 'base64'));
  } catch {
    throw new CommandRefused('certificate: this is not an X.509 certificate');
  }
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
