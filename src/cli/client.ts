import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { AdminRequest, type RequestOf } from '../admin/protocol.ts';
import { ClientView, RevokedClientView } from '../admin/views.ts';
import { ConfigError } from '../config/config-error.ts';
import { loadConfig } from '../config/config.ts';
import { LimitsInForce } from '../config/limits-in-force.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import type { Outcome } from './outcome.ts';
import { ask, look } from './service.ts';
import { fields, table } from './table.ts';
import { clientView, revokedClientView } from '../admin/client-commands.ts';

export const AddOptions = z.object({
  certificate: z.string(),
  name: z.string(),
  tenant: z.string(),
  roles: z.string(),
  replace: z.boolean().default(false),
  again: z.boolean().default(false),
});
export type AddOptions = z.output<typeof AddOptions>;

/** `client add`: registers the public key of a certificate. */
export async function clientAdd(configPath: string, { certificate, name, tenant, roles, replace, again }: AddOptions): Promise<Outcome> {
  const request = registrationOf({
    ...{ name, tenant, roles: rolesIn(roles), replace, again },
    certificate: readCertificate(certificate).raw.toString('base64'),
  });
  const { result, notes } = await ask(configPath, request, ClientView);
  return { json: result, text: `Client registered.\n${clientFields(result)}`, notes };
}

/** Returns the names of roles in a list with commas. */
export function rolesIn(text: string): string[] {
  return text.split(',').map((role) => role.trim());
}

/** Returns the request that registers a client. @throws {CommandError} for options that are wrong */
export function registrationOf(client: {
  readonly name: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  /** DER, base64. */
  readonly certificate: string;
  readonly replace?: boolean;
  readonly again?: boolean;
}): RequestOf<'client add'> {
  const parsed = AdminRequest.safeParse({ command: 'client add', replace: false, again: false, ...client });
  if (parsed.success && parsed.data.command === 'client add') return parsed.data;
  const faults = (parsed.error?.issues ?? []).map(({ path, message }) => `--${String(path[0] ?? '')}: ${message}`);
  throw new CommandError(exitCodes.usage, faults.join('\n'));
}

function readCertificate(file: string): X509Certificate {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new CommandError(exitCodes.usage, `--certificate: ${reasonOf(error)}`);
  }
  try {
    return new X509Certificate(bytes);
  } catch {
    throw new CommandError(exitCodes.usage, `--certificate: ${file}: this is not an X.509 certificate in PEM or DER`);
  }
}

/** Formats a client for people. `more`: further lines. */
export function clientFields({ name, tenant, roles, publicKey }: ClientView, more: readonly (readonly [string, string])[] = []): string {
  return fields([['name', name], ['tenant', tenant], ['roles', roles.join(', ')], ['public key', publicKey], ...more]);
}

export const RevokeOptions = z.object({ client: z.string() });

/** `client revoke`: once it returns, nothing more is signed for the client. */
export async function clientRevoke(configPath: string, { client }: z.output<typeof RevokeOptions>): Promise<Outcome> {
  const parsed = AdminRequest.safeParse({ command: 'client revoke', client });
  if (!parsed.success) throw new CommandError(exitCodes.usage, "give the client's name, or the 64 hexadecimal digits of its public key");
  const { result, notes } = await ask(configPath, parsed.data, ClientView);
  return { json: result, text: `Client revoked: no instance answers it any longer.\n${clientFields(result)}`, notes };
}

export const ListOptions = z.object({ revoked: z.boolean().default(false) });

/** `client list`: the registered clients; with `--revoked`, those that were revoked. */
export async function clientList(configPath: string, { revoked }: z.output<typeof ListOptions>): Promise<Outcome> {
  return revoked ? revokedList(configPath) : registeredList(configPath);
}

async function revokedList(configPath: string): Promise<Outcome> {
  const { result, notes } = await look(
    configPath,
    { command: 'client list revoked' },
    {
      schema: z.array(RevokedClientView),
      read: async (store) => (await store.run('listRevokedClients')).map(revokedClientView),
    },
  );
  const rows = result.map(({ name, tenant, registered, revoked, notAfter, publicKey }) => [
    ...[name, tenant, registered, revoked, notAfter?.slice(0, 10) ?? '-', publicKey],
  ]);
  return { json: result, text: table(['NAME', 'TENANT', 'REGISTERED', 'REVOKED', 'VALID UNTIL', 'PUBLIC KEY'], rows), notes };
}

async function registeredList(configPath: string): Promise<Outcome> {
  const { result, notes } = await look(
    configPath,
    { command: 'client list' },
    {
      schema: z.array(ClientView),
      read: async (store) => (await store.run('listClients')).map((row) => clientView(row, limitsOf(configPath))),
    },
  );
  const rows = result.map(({ name, tenant, roles, registered, notAfter, limits, publicKey }) => {
    const rate = limits === null ? '-' : String(limits.requestsPerSecond);
    return [name, tenant, roles.join(','), registered, notAfter?.slice(0, 10) ?? '-', rate, publicKey];
  });
  return { json: result, text: table(['NAME', 'TENANT', 'ROLES', 'REGISTERED', 'VALID UNTIL', 'REQUESTS/S', 'PUBLIC KEY'], rows), notes };
}

/** Returns the limits of the configuration file; undefined if it cannot be used. */
function limitsOf(configPath: string): LimitsInForce | undefined {
  try {
    return new LimitsInForce(loadConfig(configPath));
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** `client reload`: reads the clients again, after the state store was changed by hand. */
export async function clientReload(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'client reload' }, z.strictObject({ clients: z.int() }));
  return { json: result, text: `${result.clients} clients are registered.\n`, notes };
}
