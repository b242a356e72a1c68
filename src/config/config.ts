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
const PathPrefix = z.string().regex(/^(\/[A-Za-z0-9_-]+)+$/, 'a path prefix such as /sign');

const Tenant = z.strictObject({
  certificateAuthority: z.string().min(1).describe('Name of the authority that issues the certificates of the tenant.'),
  profile: CertificateProfile,
  identityProviders: z
    .array(z.string())
    .max(16)
    .default([])
    .describe('Names of those whose tokens createCertificate takes from this tenant.'),
  keysMax: z
    .int()
    .positive()
    .optional()
    .describe(
      'Keys of the tenant on the token, those consumed and removed apart; beyond it createCertificate is 2/213. Absent: any number.',
    ),
  revocationNeedsSecret: z.boolean().default(false).describe("revokeCertificate wants the key's secret; the role alone is not enough."),
  allowSha1: z
    .boolean()
    .default(false)
    .describe('Takes SHA-1 digests, the DIGEST value SHA_1 and time-stamps that rest on SHA-1, which is broken for new signatures.'),
  otpDelivery: z
    .enum(['RESPONSE', 'MESSAGE'])
    .default('RESPONSE')
    .describe('What sendOTP does with a one-time password: RESPONSE answers it, MESSAGE sends it to the subscriber of the key.'),
  otpText: OtpText.optional().describe("What the tenant's subscribers read instead of messages.otpText."),
  readDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.readDirectories."),
  timeStampsFromAnyRoot: z
    .boolean()
    .default(false)
    .describe(
      'Takes tokens of any time-stamp authority that a caller names (URLSource CLIENT), whatever root they chain to, also where the token does not hold it.',
    ),
  writeDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.writeDirectories."),
});

const Audit = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe('False: nothing is recorded. For measurements; a service that signs for others needs its audit log.'),
  directory: FilePath.default('/var/log/signetd/audit').describe('Directory of the files, made where it is missing.'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/)
    .default('signetd')
    .describe('Name of the log. Instances that share a state store have one each.'),
  checkpointSeconds: z.number().positive().max(3600).default(60).describe('Seconds between two checkpoints that the token signs.'),
  checkpointRecords: z.int().positive().default(1000).describe('Records after which a checkpoint comes before its time.'),
  rotateBytes: z
    .int()
    .min(4096)
    .default(64 * 1024 * 1024)
    .describe('Bytes of a file; one that has grown to this is closed, and the next one goes on.'),
});

/** Keys made ahead on the token, so that createCertificate waits for none. The types are those of the tenants' profiles. */
const KeyPool = z.strictObject({
  keys: z.int().min(0).max(1000).default(8).describe('Keys of each type that wait on the token; 0: none.'),
  keysByType: z.partialRecord(z.enum(keyTypes), z.int().min(0).max(1000)).default({}).describe('The same for single types.'),
});

export const Config = z.strictObject({
  listeners: z.strictObject({
    api: z.strictObject({
      host: z.string().default('0.0.0.0').describe('Address to listen on, where systemd hands over no socket.'),
      port: Port.default(8443).describe('TCP port to listen on, where systemd hands over no socket.'),
      certificate: FilePath.describe('PEM file with the server certificate and what is between it and its root.'),
      key: FilePath.describe('PEM file of its key, or credential:<name> for one that systemd hands over.'),
      clientCertificateAuthority: FilePath.describe(
        'PEM file with each authority that issues client certificates, and those above it up to the root.',
      ),
      clientRevocationLists: ClientRevocationLists,
      sharedAddresses: SharedAddresses,
    }),
    operations: z
      .strictObject({
        host: z.string().default('127.0.0.1').describe('Address to listen on, where systemd hands over no socket.'),
        port: Port.default(9443).describe('TCP port to listen on, where systemd hands over no socket.'),
        socketPath: FilePath.optional().describe(
          'A Unix socket to listen on instead of host and port, where systemd hands over none: whatever user of the machine may read what loopback answers.',
        ),
        socketGroup: Account.optional().describe(
          'The group that may connect to the Unix socket, by name or number (mode 0660); the user of the service has to be in it. Absent: the user of the service alone (mode 0600).',
        ),
        ...connectionLimits({ connectionsMax: 100, idleTimeoutSeconds: 60 }),
      })
      .prefault({}),
    public: z
      .strictObject({
        host: z.string().default('0.0.0.0').describe('Address to listen on, where systemd hands over no socket.'),
        port: Port.default(8080).describe('TCP port to listen on, where systemd hands over no socket.'),
        ...connectionLimits({ connectionsMax: 500, idleTimeoutSeconds: 10 }),
        connectionsMaxPerAddress: z
          .int()
          .positive()
          .default(64)
          .describe(
            'Of those, connections from one address (IPv6: one /64). A further one takes the place of the one that rests the longest.',
          ),
        sharedAddresses: SharedAddresses,
        requestsPerSecond: z
          .int()
          .positive()
          .default(1000)
          .describe(
            'Of all clients together. What comes faster waits, so that strangers do not slow the signatures down; who would wait too long gets a 503.',
          ),
        ocspSignaturesPerSecond: z
          .int()
          .positive()
          .default(200)
          .describe(
            'OCSP answers that need a signature: those with a nonce, and the first about each certificate. Beyond it the answer is tryLater.',
          ),
        timeStampsPerSecond: z
          .int()
          .positive()
          .default(200)
          .describe(
            'Tokens that /tsa gives to all clients together. Beyond it the answer is a 503. Signatures of this service do not count.',
          ),
      })
      .optional()
      .describe('Plain HTTP that anyone may reach, for what is public by nature. Absent: no such listener; {} has its defaults.'),
  }),
  paths: z
    .strictObject({
      signRoot: PathPrefix.default('/sign').describe('Prefix of the paths of all operations.'),
      ftmRoot: PathPrefix.default('/ftm').describe('Prefix of the paths of the file transfer store.'),
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
    .describe('Authorities by name, their keys on the token. The name stands in URLs.'),
  admin: AdminConfig.prefault({}),
  documents: DocumentsConfig.prefault({}),
  transferStore: TransferStoreConfig.optional().describe('The file transfer store (FTM). Absent: there is none; {} has its defaults.'),
  identityProviders: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), IdentityProvider)
    .default({})
    .describe('Issuers of JSON Web Tokens, by names that tenants refer to.'),
  messages: MessagesConfig.optional().describe('Gateways for messages to subscribers. Absent: nothing is sent.'),
  outgoing: OutgoingConfig.prefault({}),
  revocation: RevocationConfig.prefault({}),
  timeStamps: TimeStampsConfig.prefault({}),
  timeStampAuthority: TimeStampAuthorityConfig.optional().describe('The own time-stamp authority (RFC 3161). Absent: there is none.'),
  tenants: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), Tenant)
    .describe('Tenants by name: keys and certificates of one do not exist for another.'),
  log: z
    .strictObject({
      level: z.enum(['error', 'warn', 'info', 'debug']).default('info').describe('What is logged; debug adds a line a request.'),
    })
    .prefault({}),
});
export type Config = z.output<typeof Config>;

/** The configuration is wrong: what an operator reads, one line a fault. */
export class ConfigError extends Error {}

/** Reads the YAML file. Relative paths in it are relative to it. @throws {ConfigError} */
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
          `${path}: tenants.${name}.certificateAuthority: the key of "${certificateAuthority}" is a root's, which signs no certificates of subscribers`,
      ),
  );
  const undelivered = Object.entries(config.tenants).find(([, { otpDelivery }]) => otpDelivery === 'MESSAGE');
  if (undelivered !== undefined && config.messages === undefined) {
    faults.push(`${path}: tenants.${undelivered[0]}.otpDelivery: MESSAGE needs a gateway, and there is no section messages`);
  }
  if (socketGroup !== undefined && socketPath === undefined) {
    faults.push(`${path}: listeners.operations.socketGroup: there is no socketPath that the group could connect to`);
  }
  faults.push(...identityProviderFaults(config.identityProviders, config.tenants).map((fault) => `${path}: ${fault}`));
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return withAbsolutePaths(config, dirname(resolve(path)));
}

/** Reads what is needed before there are authorities and tenants: where the token and the state are. @throws {ConfigError} */
export function loadFoundations(path: string): Pick<Config, 'token' | 'state' | 'audit'> {
  const base = dirname(resolve(path));
  const sections = z.object({ token: TokenConfig, state: StateConfig.prefault({}), audit: Audit.prefault({}) });
  const { token, state, audit } = check(sections, readYaml(path), path);
  return { token: absoluteToken(token, base), state: absoluteState(state, base), audit };
}

/** Reads the token's section alone, for the token host. @throws {ConfigError} */
export function loadTokenConfig(path: string): TokenConfig {
  const section = check(z.object({ token: TokenConfig }), readYaml(path), path).token;
  return absoluteToken(section, dirname(resolve(path)));
}

/** Reads the admin socket's section alone: the service can be asked although the rest is wrong by now. @throws {ConfigError} */
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
