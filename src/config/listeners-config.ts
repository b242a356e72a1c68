import { join, resolve } from 'node:path';
import { z } from 'zod';
import { networkOf } from './network.ts';
import { daemonsCredentials } from './secret-reference.ts';

const noAccount = 0xffffffff;

/** A user or group of the machine, by name or number. */
export const Account = z.union([
  z
    .int()
    .min(0)
    .max(noAccount - 1),
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/, 'not the name or number of an account'),
]);
export type Account = z.output<typeof Account>;

const FilePath = z.string().min(1);
const Port = z.int().min(0).max(65_535);

/** Connection limits of the operations listener and the public listener. */
function connectionLimits(defaults: { readonly connectionsMax: number; readonly idleTimeoutSeconds: number }): {
  connectionsMax: z.ZodDefault<z.ZodInt>;
  idleTimeoutSeconds: z.ZodDefault<z.ZodNumber>;
} {
  return {
    connectionsMax: z
      .int()
      .positive()
      .max(1_000_000)
      .default(defaults.connectionsMax)
      .describe('Maximum number of open connections; further ones are closed immediately.'),
    idleTimeoutSeconds: z
      .number()
      .positive()
      .max(3600)
      .default(defaults.idleTimeoutSeconds)
      .describe('Seconds after which a connection without a request is closed.'),
  };
}

const ClientRevocationLists = z
  .array(z.string().min(1))
  .default([])
  .describe(
    'Files with the CRLs of the client CAs, in PEM or DER; each CA in clientCertificateAuthority needs one. Empty: revocation is not checked. The files are read again on reload; once a CRL has expired, all clients of its CA are refused.',
  );

const ClientRevocationUrls = z
  .array(
    z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .refine((text) => !URL.canParse(text) || new URL(text).username + new URL(text).password === '', 'has a user name or a password'),
  )
  .max(64)
  .default([])
  .describe(
    'URLs from which the CRLs of the client CAs are fetched, beside the files of clientRevocationLists; of two CRLs of one CA, the newer one counts. The rules of the section outgoing apply. Each CA in clientCertificateAuthority needs a CRL, from a file or a URL; while it has none, and once it has expired, all its clients are refused.',
  );

const Network = networkOf(/^(?<address>[0-9a-f.:]+)\/(?<prefix>\d{1,3})$/i, 'not a network such as 192.0.2.7/32 or 2001:db8::/32');

const SharedAddresses = z
  .array(Network)
  .default([])
  .describe(
    'Networks of load balancers, proxies and gateways that make many clients appear under one address. The limits per address do not apply to these addresses.',
  );

/** Listeners for the API, for operations and for the public. */
export const ListenersConfig = z.strictObject({
  api: z.strictObject({
    host: z.string().default('0.0.0.0').describe('Address to listen on, unless systemd passes a socket.'),
    port: Port.default(8443).describe('TCP port to listen on, unless systemd passes a socket.'),
    certificate: FilePath.describe('PEM file with the server certificate and the intermediate certificates.'),
    key: FilePath.describe('PEM file with its key, as a path or as file:<path>, or credential:<name> for one that systemd passes.'),
    clientCertificateAuthority: FilePath.describe(
      'PEM file with the authorities that issue client certificates, and those above them up to the root.',
    ),
    clientRevocationLists: ClientRevocationLists,
    clientRevocationUrls: ClientRevocationUrls,
    clientRevocationRefreshSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .default(3600)
      .describe(
        'Maximum seconds between two fetches from a URL of clientRevocationUrls. Near the end of a CRL, the next one is fetched earlier.',
      ),
    clientRevocationDirectory: FilePath.default('/var/lib/signetd/client-crls').describe(
      'Directory in which fetched CRLs are kept for the next start, created if it is missing.',
    ),
    sharedAddresses: SharedAddresses,
  }),
  operations: z
    .strictObject({
      host: z.string().default('127.0.0.1').describe('Address to listen on, unless systemd passes a socket.'),
      port: Port.default(9443).describe('TCP port to listen on, unless systemd passes a socket.'),
      socketPath: FilePath.optional().describe(
        'Unix socket to listen on instead of host and port, unless systemd passes one. Any user of the machine can connect to a loopback address.',
      ),
      socketGroup: Account.optional().describe(
        'Group that may connect to the Unix socket, by name or number (mode 0660). The user of the service must be a member. Default: only the user of the service (mode 0600).',
      ),
      console: z
        .enum(['off', 'read', 'operate'])
        .default('operate')
        .describe(
          'Operator console at /console/. off: none. read: operators who signed in with signetctl console see everything. operate: they can unlock keys too. Others see only health and graphs.',
        ),
      ...connectionLimits({ connectionsMax: 100, idleTimeoutSeconds: 60 }),
    })
    .prefault({}),
  public: z
    .strictObject({
      host: z.string().default('0.0.0.0').describe('Address to listen on, unless systemd passes a socket.'),
      port: Port.default(8080).describe('TCP port to listen on, unless systemd passes a socket.'),
      ...connectionLimits({ connectionsMax: 500, idleTimeoutSeconds: 10 }),
      connectionsMaxPerAddress: z
        .int()
        .positive()
        .default(64)
        .describe(
          'Maximum number of these connections from one address (IPv6: one /64). A further one replaces the one that has been idle longest.',
        ),
      sharedAddresses: SharedAddresses,
      requestsPerSecond: z
        .int()
        .positive()
        .default(1000)
        .describe(
          'Requests per second from all clients together. Further requests wait, so that external clients do not slow down signing; those that would wait too long get status 503.',
        ),
      ocspSignaturesPerSecond: z
        .int()
        .positive()
        .default(200)
        .describe(
          'OCSP responses per second that need a signature: those with a nonce, and the first for each certificate. Beyond it the response is tryLater.',
        ),
      timeStampsPerSecond: z
        .int()
        .positive()
        .default(200)
        .describe(
          'Time-stamps per second that /tsa issues to all clients together; beyond it status 503. Time-stamps for signatures of this service do not count.',
        ),
    })
    .optional()
    .describe('Plain HTTP for public data, open to everyone. Default: no such listener; {}: with defaults.'),
});
type ListenersConfig = z.output<typeof ListenersConfig>;

/** Socket for signetctl. */
export const AdminConfig = z.strictObject({
  socketPath: z.string().min(1).default('/run/signetd/admin.sock').describe('Unix socket for signetctl.'),
  access: z
    .enum(['user', 'group'])
    .default('user')
    .describe(
      'Who may connect besides root. user: only the user of the service (mode 0600). group: also the members of `group` (mode 0660).',
    ),
  group: Account.default('signetd-admin').describe(
    'Group admitted by `access: group`, by name or number. The user of the service must be a member. Use a group for this purpose only.',
  ),
  approvals: z
    .union([z.literal(1), z.literal(2)])
    .default(1)
    .describe(
      'Number of users whom a command needs that signs with the key of a CA, admits a client, changes the purpose of a key, removes records of the audit log or confirms a state store. 2: it waits until a member of `approvers` has approved it.',
    ),
  approvers: Account.default('signetd-approvers').describe(
    'Group whose members approve commands of others, by name or number; never `group`. The user of the service must be a member. Use a group for this purpose only.',
  ),
  approvalSocketPath: z
    .string()
    .min(1)
    .default('/run/signetd/approvals.sock')
    .describe('Unix socket for signetctl approvals, approve and refuse, with `approvals: 2` (mode 0660, for `approvers`).'),
  approvalMinutes: z.number().positive().max(1440).default(15).describe('Minutes for which a command waits for its approval.'),
});
export type AdminConfig = z.output<typeof AdminConfig>;

/** Makes the paths absolute. */
export function absoluteAdmin(admin: AdminConfig, base: string): AdminConfig {
  const { socketPath, approvalSocketPath } = admin;
  return { ...admin, socketPath: resolve(base, socketPath), approvalSocketPath: resolve(base, approvalSocketPath) };
}

/** Returns the faults of the settings for approvals. */
export function adminFaults({ admin, audit }: { readonly admin: AdminConfig; readonly audit: { readonly enabled: boolean } }): string[] {
  const { approvals, group, approvers, socketPath, approvalSocketPath } = admin;
  if (approvals === 1) return [];
  return [
    ...(audit.enabled ? [] : ['admin.approvals: 2 requires the audit log (audit.enabled), which names both users']),
    ...(approvers === group ? ['admin.approvers: must be another group than admin.group'] : []),
    ...(approvalSocketPath === socketPath ? ['admin.approvalSocketPath: must be another path than admin.socketPath'] : []),
  ];
}

/** Makes the paths absolute. */
export function absoluteListeners(listeners: ListenersConfig, base: string): ListenersConfig {
  const { api, operations } = listeners;
  return {
    ...listeners,
    api: {
      ...api,
      certificate: resolve(base, api.certificate),
      key: fileOrCredential(base, api.key),
      clientCertificateAuthority: resolve(base, api.clientCertificateAuthority),
      clientRevocationLists: api.clientRevocationLists.map((file) => resolve(base, file)),
      clientRevocationDirectory: resolve(base, api.clientRevocationDirectory),
    },
    operations: {
      ...operations,
      ...(operations.socketPath === undefined ? {} : { socketPath: resolve(base, operations.socketPath) }),
    },
  };
}

const prefix = 'credential:';
const filePrefix = 'file:';

/** Returns the name of a credential of the daemon's unit by its path while the unit runs. */
export function daemonsCredential(path: string): string | undefined {
  return path.startsWith(`${daemonsCredentials}/`) ? path.slice(daemonsCredentials.length + 1) : undefined;
}

/**
 * Returns the path of a file given as `credential:<name>` (in systemd's $CREDENTIALS_DIRECTORY), or as
 * `file:<path>` or a path alone, relative to `base`.
 */
function fileOrCredential(base: string, reference: string): string {
  if (reference.startsWith(filePrefix)) return resolve(base, reference.slice(filePrefix.length));
  if (!reference.startsWith(prefix)) return resolve(base, reference);
  return join(process.env['CREDENTIALS_DIRECTORY'] ?? daemonsCredentials, reference.slice(prefix.length));
}
