import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { absoluteAuthority, AuthorityName, CertificateAuthority, hasRootKey } from './authority-config.ts';
import { LimitsConfig } from './limits-config.ts';
import { Account } from './account.ts';
import { AdminConfig } from './admin-config.ts';
import { ClientRevocationLists, connectionLimits, SharedAddresses } from './connection-config.ts';
import { fileOrCredential } from './credential-file.ts';
import { absoluteDocuments, absoluteTransferStore, AllowedDirectories, DocumentsConfig, TransferStoreConfig } from './documents-config.ts';
import { absoluteIdentityProvider, IdentityProvider, identityProviderFaults } from './identity-provider-config.ts';
import { absoluteMessages, MessagesConfig, OtpText } from './messages-config.ts';
import { absoluteOutgoing, OutgoingConfig, RevocationConfig } from './outgoing-config.ts';
import { SessionsConfig } from './sessions-config.ts';
import { CertificateProfile, keyTypes } from './profile.ts';
import { absoluteTimeStampAuthority, absoluteTimeStamps, TimeStampAuthorityConfig, TimeStampsConfig } from './time-stamp-config.ts';
import { absoluteState, StateConfig } from './state-config.ts';
import { absoluteToken, TokenConfig } from './token-config.ts';

const FilePath = z.string().min(1);
const Port = z.int().min(0).max(65_535);
const PathPrefix = z.string().regex(/^(\/[A-Za-z0-9_-]+)+$/, 'not a path prefix such as /sign');

const Tenant = z.strictObject({
  certificateAuthority: z.string().min(1).describe("Name of the authority that issues the tenant's certificates."),
  profile: CertificateProfile,
  identityProviders: z
    .array(z.string())
    .max(16)
    .default([])
    .describe('Names of the providers whose tokens createCertificate accepts from this tenant.'),
  keysMax: z
    .int()
    .positive()
    .optional()
    .describe(
      'Maximum number of keys of the tenant on the token, not counting consumed and removed ones; beyond it createCertificate returns 2/213. Absent: no limit.',
    ),
  revocationNeedsSecret: z.boolean().default(false).describe("revokeCertificate requires the key's secret; the role alone is not enough."),
  allowSha1: z
    .boolean()
    .default(false)
    .describe('Accepts SHA-1 digests, the DIGEST value SHA_1 and time-stamps that depend on SHA-1, which is broken for new signatures.'),
  otpDelivery: z
    .enum(['RESPONSE', 'MESSAGE'])
    .default('RESPONSE')
    .describe(
      'How sendOTP delivers a one-time password: RESPONSE returns it to the caller, MESSAGE sends it to the subscriber of the key.',
    ),
  otpText: OtpText.optional().describe("Message to the tenant's subscribers, instead of messages.otpText."),
  readDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.readDirectories."),
  timeStampsFromAnyRoot: z
    .boolean()
    .default(false)
    .describe(
      'Accepts tokens of any time-stamp authority that a caller names (URLSource CLIENT), whatever root they chain to, even if the token does not contain the root.',
    ),
  writeDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.writeDirectories."),
});

const Audit = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe('False: nothing is recorded. For measurements only; a service that signs for others needs its audit log.'),
  directory: FilePath.default('/var/log/signetd/audit').describe('Directory of the log files, created if it is missing.'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/)
    .default('signetd')
    .describe('Name of the log. Instances that share a state store each need their own.'),
  checkpointSeconds: z.number().positive().max(3600).default(60).describe('Seconds between two checkpoints, which the token signs.'),
  checkpointRecords: z.int().positive().default(1000).describe('Number of records after which a checkpoint is written early.'),
  rotateBytes: z
    .int()
    .min(4096)
    .default(64 * 1024 * 1024)
    .describe('Size in bytes at which a log file is closed and the next one begins.'),
});

/**
 * Keys created in advance on the token, so that createCertificate need not wait, of the types in
 * the tenants' profiles.
 */
const KeyPool = z.strictObject({
  keys: z.int().min(0).max(1000).default(8).describe('Number of keys of each type kept ready on the token; 0: none.'),
  keysByType: z.partialRecord(z.enum(keyTypes), z.int().min(0).max(1000)).default({}).describe('Number of keys for individual types.'),
});

export const Config = z.strictObject({
  listeners: z.strictObject({
    api: z.strictObject({
      host: z.string().default('0.0.0.0').describe('Address to listen on, unless systemd passes a socket.'),
      port: Port.default(8443).describe('TCP port to listen on, unless systemd passes a socket.'),
      certificate: FilePath.describe('PEM file with the server certificate and the intermediate certificates.'),
      key: FilePath.describe('PEM file with its key, or credential:<name> for one that systemd passes.'),
      clientCertificateAuthority: FilePath.describe(
        'PEM file with the authorities that issue client certificates, and those above them up to the root.',
      ),
      clientRevocationLists: ClientRevocationLists,
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
          'Group that may connect to the Unix socket, by name or number (mode 0660). The user of the service must be a member. Absent: only the user of the service (mode 0600).',
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
      .describe('Plain HTTP for public data, open to everyone. Absent: no such listener; {}: with defaults.'),
  }),
  paths: z
    .strictObject({
      signRoot: PathPrefix.default('/sign').describe('Path prefix of all operations.'),
      ftmRoot: PathPrefix.default('/ftm').describe('Path prefix of the file transfer store.'),
    })
    .prefault({}),
  limits: LimitsConfig.prefault({}),
  token: TokenConfig,
  state: StateConfig.prefault({}),
  keyPool: KeyPool.prefault({}),
  sessions: SessionsConfig.prefault({}),
  audit: Audit.prefault({}),
  certificateAuthorities: z
    .record(AuthorityName, CertificateAuthority)
    .describe('Authorities by name, with their keys on the token. The name is part of URLs.'),
  admin: AdminConfig.prefault({}),
  documents: DocumentsConfig.prefault({}),
  transferStore: TransferStoreConfig.optional().describe('File transfer store (FTM). Absent: none; {}: with defaults.'),
  identityProviders: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), IdentityProvider)
    .default({})
    .describe('Issuers of JSON Web Tokens, by name. Tenants refer to these names.'),
  messages: MessagesConfig.optional().describe('Gateways for messages to subscribers. Absent: no messages are sent.'),
  outgoing: OutgoingConfig.prefault({}),
  revocation: RevocationConfig.prefault({}),
  timeStamps: TimeStampsConfig.prefault({}),
  timeStampAuthority: TimeStampAuthorityConfig.optional().describe('Time-stamp authority of this service (RFC 3161). Absent: none.'),
  tenants: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), Tenant)
    .describe('Tenants by name. Keys and certificates of one tenant do not exist for another.'),
  log: z
    .strictObject({
      level: z.enum(['error', 'warn', 'info', 'debug']).default('info').describe('Log level; debug adds a line for each request.'),
    })
    .prefault({}),
});
export type Config = z.output<typeof Config>;

/** Thrown for a faulty configuration, with a message for the operator: one line for each fault. */
export class ConfigError extends Error {}

/**
 * Reads the YAML file. Relative paths in it are resolved against its directory.
 * @throws {ConfigError}
 */
export function loadConfig(path: string): Config {
  const config = check(Config, readYaml(path), path);
  const { socketPath, socketGroup } = config.listeners.operations;
  const faults = Object.entries(config.tenants)
    .filter(([, { certificateAuthority }]) => config.certificateAuthorities[certificateAuthority] === undefined)
    .map(
      ([name, { certificateAuthority }]) =>
        `${path}: tenants.${name}.certificateAuthority: no certificate authority "${certificateAuthority}" is configured`,
    );
  faults.push(
    ...Object.entries(config.tenants)
      .filter(([, { certificateAuthority }]) => hasRootKey(config.certificateAuthorities[certificateAuthority]))
      .map(
        ([name, { certificateAuthority }]) =>
          `${path}: tenants.${name}.certificateAuthority: "${certificateAuthority}" has the key of a root, which does not sign certificates of subscribers`,
      ),
  );
  const undelivered = Object.entries(config.tenants).find(([, { otpDelivery }]) => otpDelivery === 'MESSAGE');
  if (undelivered !== undefined && config.messages === undefined) {
    faults.push(`${path}: tenants.${undelivered[0]}.otpDelivery: MESSAGE requires a gateway, but the section messages is missing`);
  }
  if (socketGroup !== undefined && socketPath === undefined) {
    faults.push(`${path}: listeners.operations.socketGroup: socketGroup requires socketPath`);
  }
  faults.push(...identityProviderFaults(config.identityProviders, config.tenants).map((fault) => `${path}: ${fault}`));
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return withAbsolutePaths(config, dirname(resolve(path)));
}

/**
 * Reads only the sections needed before there are authorities and tenants: token, state and audit.
 * @throws {ConfigError}
 */
export function loadFoundations(path: string): Pick<Config, 'token' | 'state' | 'audit'> {
  const base = dirname(resolve(path));
  const sections = z.object({ token: TokenConfig, state: StateConfig.prefault({}), audit: Audit.prefault({}) });
  const { token, state, audit } = check(sections, readYaml(path), path);
  return { token: absoluteToken(token, base), state: absoluteState(state, base), audit };
}

/** Reads only the token section, for the token host. @throws {ConfigError} */
export function loadTokenConfig(path: string): TokenConfig {
  const section = check(z.object({ token: TokenConfig }), readYaml(path), path).token;
  return absoluteToken(section, dirname(resolve(path)));
}

/**
 * Reads only the admin section, so that signetctl can reach the service even if the rest is faulty.
 * @throws {ConfigError}
 */
export function loadAdminConfig(path: string): AdminConfig {
  const { admin } = check(z.object({ admin: AdminConfig.prefault({}) }), readYaml(path), path);
  return { ...admin, socketPath: resolve(dirname(resolve(path)), admin.socketPath) };
}

function readYaml(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'), { strict: true, uniqueKeys: true });
  } catch (error) {
    throw new ConfigError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function check<T extends z.ZodType>(schema: T, value: unknown, path: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map((issue) => `${path}: ${issue.path.join('.') || '(file)'}: ${issue.message}`).join('\n'));
}

function withAbsolutePaths(config: Config, base: string): Config {
  const { api, operations } = config.listeners;
  return {
    ...config,
    listeners: {
      ...config.listeners,
      api: {
        ...api,
        certificate: resolve(base, api.certificate),
        key: fileOrCredential(base, api.key),
        clientCertificateAuthority: resolve(base, api.clientCertificateAuthority),
        clientRevocationLists: api.clientRevocationLists.map((file) => resolve(base, file)),
      },
      operations: {
        ...operations,
        ...(operations.socketPath === undefined ? {} : { socketPath: resolve(base, operations.socketPath) }),
      },
    },
    token: absoluteToken(config.token, base),
    state: absoluteState(config.state, base),
    audit: { ...config.audit, directory: resolve(base, config.audit.directory) },
    sessions: { ...config.sessions, scratchDirectory: resolve(base, config.sessions.scratchDirectory) },
    admin: { ...config.admin, socketPath: resolve(base, config.admin.socketPath) },
    documents: absoluteDocuments(config.documents, base),
    ...(config.transferStore === undefined ? {} : { transferStore: absoluteTransferStore(config.transferStore, base) }),
    identityProviders: Object.fromEntries(
      Object.entries(config.identityProviders).map(([name, provider]) => [name, absoluteIdentityProvider(provider, base)]),
    ),
    ...(config.messages === undefined ? {} : { messages: absoluteMessages(config.messages, base) }),
    outgoing: absoluteOutgoing(config.outgoing, base),
    timeStamps: absoluteTimeStamps(config.timeStamps, base),
    ...(config.timeStampAuthority === undefined ? {} : { timeStampAuthority: absoluteTimeStampAuthority(config.timeStampAuthority, base) }),
    tenants: Object.fromEntries(Object.entries(config.tenants).map(([name, tenant]) => [name, absoluteTenant(tenant, base)])),
    certificateAuthorities: Object.fromEntries(
      Object.entries(config.certificateAuthorities).map(([name, authority]) => [name, absoluteAuthority(authority, base)]),
    ),
  };
}

function absoluteTenant(tenant: z.output<typeof Tenant>, base: string): z.output<typeof Tenant> {
  const { readDirectories, writeDirectories } = tenant;
  return {
    ...tenant,
    ...(readDirectories === undefined ? {} : { readDirectories: readDirectories.map((directory) => resolve(base, directory)) }),
    ...(writeDirectories === undefined ? {} : { writeDirectories: writeDirectories.map((directory) => resolve(base, directory)) }),
  };
}
