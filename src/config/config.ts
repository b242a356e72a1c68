import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { absoluteAuthority, AuthorityName, CertificateAuthority, ClientAuthority, hasRootKey } from './authority-config.ts';
import { ConfigError } from './config-error.ts';
import { LimitsConfig, SessionsConfig } from './limits-config.ts';
import { tenantLimitFaults } from './limits-in-force.ts';
import { absoluteAdmin, absoluteListeners, AdminConfig, adminFaults, ListenersConfig } from './listeners-config.ts';
import { absoluteTenant, TenantConfig } from './tenant-config.ts';
import { absoluteDocuments, DocumentsConfig } from './documents-config.ts';
import { absoluteIdentityProvider, IdentityProvider, identityProviderFaults } from './identity-provider-config.ts';
import { absoluteMessages, MessagesConfig } from './messages-config.ts';
import { absoluteOutgoing, absoluteRevocation, OutgoingConfig, RevocationConfig } from './outgoing-config.ts';
import { keyTypes } from './key-types.ts';
import { absoluteTimeStampAuthority, absoluteTimeStamps, TimeStampAuthorityConfig, TimeStampsConfig } from './time-stamp-config.ts';
import { VisibleSignaturesConfig } from './visible-signatures-config.ts';
import { absoluteState, StateConfig, withServiceUser } from './state-config.ts';
import { absoluteSyslog, SyslogConfig } from './syslog-config.ts';
import { absoluteToken, TokenConfig } from './token-config.ts';
import { closestName } from './closest-name.ts';
import { CscConfig } from './csc-config.ts';
import { parseMembers } from './schema-faults.ts';
import { YamlFile } from './yaml-file.ts';
import { absoluteTransferStore, TransferStoreConfig } from './transfer-store-config.ts';

const FilePath = z.string().min(1);
const PathPrefix = z.string().regex(/^(\/[A-Za-z0-9_-]+)+$/, 'not a path prefix such as /sign');

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
  retentionDaysMin: z
    .int()
    .min(1)
    .default(365)
    .describe('Days for which every record is kept at least: signetctl audit prune removes nothing younger.'),
  syslog: SyslogConfig.optional().describe('Syslog server that receives a copy of each record. Default: none.'),
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
  listeners: ListenersConfig,
  paths: z
    .strictObject({
      signRoot: PathPrefix.default('/sign').describe('Path prefix of the operations on signatures, keys and certificates.'),
      doc2dRoot: PathPrefix.default('/doc2d').describe('Path prefix of the operations that create 2D-Doc codes.'),
      ftmRoot: PathPrefix.default('/ftm').describe('Path prefix of the file transfer store.'),
      cscRoot: PathPrefix.optional().describe(
        'Path prefix of the API of the Cloud Signature Consortium, usually /csc. Default: it is not offered.',
      ),
    })
    .prefault({}),
  csc: CscConfig.prefault({}),
  limits: LimitsConfig.prefault({}),
  token: TokenConfig,
  state: StateConfig.prefault({}),
  keyPool: KeyPool.prefault({}),
  sessions: SessionsConfig.prefault({}),
  audit: Audit.prefault({}),
  certificateAuthorities: z
    .record(AuthorityName, CertificateAuthority)
    .describe('Authorities by name, with their keys on the token. The name is part of URLs.'),
  clientAuthority: ClientAuthority.optional().describe(
    'CA of client certificates with its key on the token, for signetctl client issue, client renew and server renew. The service itself signs only its CRLs with it. Default: none.',
  ),
  admin: AdminConfig.prefault({}),
  documents: DocumentsConfig.prefault({}),
  visibleSignatures: VisibleSignaturesConfig.prefault({}),
  transferStore: TransferStoreConfig.optional().describe('File transfer store (FTM). Default: none; {}: with defaults.'),
  identityProviders: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), IdentityProvider)
    .default({})
    .describe('Issuers of JSON Web Tokens, by name. Tenants refer to these names.'),
  messages: MessagesConfig.optional().describe('Gateways for messages to subscribers. Default: no messages are sent.'),
  outgoing: OutgoingConfig.prefault({}),
  revocation: RevocationConfig.prefault({}),
  timeStamps: TimeStampsConfig.prefault({}),
  timeStampAuthority: TimeStampAuthorityConfig.optional().describe('Time-stamp authority of this service (RFC 3161). Default: none.'),
  tenants: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), TenantConfig)
    .describe('Tenants by name. Keys and certificates of one tenant do not exist for another.'),
  log: z
    .strictObject({
      level: z.enum(['error', 'warn', 'info', 'debug']).default('info').describe('Log level; debug adds a line for each request.'),
    })
    .prefault({}),
});
export type Config = z.output<typeof Config>;

/**
 * Reads the YAML file. Relative paths in it are resolved against its directory.
 * @throws {ConfigError}
 */
export function loadConfig(path: string): Config {
  return configOf(YamlFile.read(path));
}

/**
 * Parses the content of a configuration file, which need not exist at its path.
 * @throws {ConfigError}
 */
export function parseConfig(path: string, text: string): Config {
  return configOf(YamlFile.parse(path, text));
}

function configOf(file: YamlFile): Config {
  const config = parseMembers(Config, file);
  const { socketPath, socketGroup } = config.listeners.operations;
  const faults = Object.entries(config.tenants)
    .filter(([, { certificateAuthority }]) => config.certificateAuthorities[certificateAuthority] === undefined)
    .map(
      ([name, { certificateAuthority }]) =>
        `tenants.${name}.certificateAuthority: no certificate authority "${certificateAuthority}" is configured${meant(certificateAuthority, config.certificateAuthorities)}`,
    );
  faults.push(
    ...Object.entries(config.tenants)
      .filter(([, { certificateAuthority }]) => hasRootKey(config.certificateAuthorities[certificateAuthority]))
      .map(
        ([name, { certificateAuthority }]) =>
          `tenants.${name}.certificateAuthority: "${certificateAuthority}" has the key of a root, which does not sign certificates of subscribers`,
      ),
  );
  faults.push(
    ...Object.entries(config.tenants)
      .filter(([, { certificateAuthority }]) => config.certificateAuthorities[certificateAuthority]?.retired === true)
      .map(
        ([name, { certificateAuthority }]) =>
          `tenants.${name}.certificateAuthority: "${certificateAuthority}" is retired and issues nothing; name its successor`,
      ),
  );
  const undelivered = Object.entries(config.tenants).find(([, { otpDelivery }]) => otpDelivery === 'MESSAGE');
  if (undelivered !== undefined && config.messages === undefined) {
    faults.push(`tenants.${undelivered[0]}.otpDelivery: MESSAGE requires a gateway, but the section messages is missing`);
  }
  if (socketGroup !== undefined && socketPath === undefined) {
    faults.push('listeners.operations.socketGroup: socketGroup requires socketPath');
  }
  const { clientAuthority } = config;
  if (clientAuthority !== undefined && Object.hasOwn(config.certificateAuthorities, clientAuthority.name))
    faults.push(`clientAuthority.name: "${clientAuthority.name}" is an authority of certificateAuthorities; each CRL has its own name`);
  faults.push(...cscRootFaults(config.paths), ...adminFaults(config));
  faults.push(...identityProviderFaults(config.identityProviders, config.tenants));
  const lines = [
    ...faults.map((fault) => file.faultOf(fault)),
    ...tenantLimitFaults(config).map(({ path, message }) => file.fault(path, message)),
  ];
  if (lines.length > 0) throw new ConfigError(lines.join('\n'));
  return withAbsolutePaths(config, dirname(resolve(file.path)));
}

/** Errors below this prefix have a form of their own, so nothing else may be there. */
function cscRootFaults({ cscRoot, ...others }: Config['paths']): readonly string[] {
  if (cscRoot === undefined) return [];
  return Object.entries(others)
    .filter(([, root]) => `${cscRoot}/`.startsWith(`${root}/`) || `${root}/`.startsWith(`${cscRoot}/`))
    .map(([name, root]) => `paths.cscRoot: "${cscRoot}" overlaps with paths.${name}, which is "${root}"`);
}

/** Returns a question that names the configured entry that was probably meant. */
function meant(name: string, configured: object): string {
  const near = closestName(name, Object.keys(configured));
  return near === undefined ? '' : `; did you mean "${near}"?`;
}

/**
 * Reads only the sections needed before there are authorities and tenants: token, state and audit.
 * @throws {ConfigError}
 */
export function loadFoundations(path: string): Pick<Config, 'token' | 'state' | 'audit'> {
  const base = dirname(resolve(path));
  const sections = z.object({ token: TokenConfig, state: StateConfig.prefault({}), audit: Audit.prefault({}) });
  const { token, state, audit } = parseMembers(sections, YamlFile.read(path));
  const directory = resolve(base, audit.directory);
  const ofService = withServiceUser(absoluteState(state, base), token.clientUser, directory);
  return { token: absoluteToken(token, base), state: ofService, audit };
}

/**
 * Reads only the state section of a file, for a store to which the present one is copied. Root
 * connects to it as the user of the present service.
 * @throws {ConfigError}
 */
export function loadStateConfig(path: string, { token, audit }: Pick<Config, 'token' | 'audit'>): StateConfig {
  const { state } = parseMembers(z.object({ state: StateConfig }), YamlFile.read(path));
  return withServiceUser(absoluteState(state, dirname(resolve(path))), token.clientUser, audit.directory);
}

/** Reads only the token section, for the token host. @throws {ConfigError} */
export function loadTokenConfig(path: string): TokenConfig {
  const section = parseMembers(z.object({ token: TokenConfig }), YamlFile.read(path)).token;
  return absoluteToken(section, dirname(resolve(path)));
}

/**
 * Reads only the admin section, so that signetctl can reach the service even if the rest is faulty.
 * @throws {ConfigError}
 */
export function loadAdminConfig(path: string): AdminConfig {
  const { admin } = parseMembers(z.object({ admin: AdminConfig.prefault({}) }), YamlFile.read(path));
  return absoluteAdmin(admin, dirname(resolve(path)));
}

function absoluteAudit({ syslog, ...audit }: Config['audit'], base: string): Config['audit'] {
  const directory = resolve(base, audit.directory);
  return { ...audit, directory, ...(syslog === undefined ? {} : { syslog: absoluteSyslog(syslog, base) }) };
}

function withAbsolutePaths(config: Config, base: string): Config {
  return {
    ...config,
    listeners: absoluteListeners(config.listeners, base),
    token: absoluteToken(config.token, base),
    state: withServiceUser(absoluteState(config.state, base), config.token.clientUser, resolve(base, config.audit.directory)),
    audit: absoluteAudit(config.audit, base),
    sessions: { ...config.sessions, scratchDirectory: resolve(base, config.sessions.scratchDirectory) },
    admin: absoluteAdmin(config.admin, base),
    documents: absoluteDocuments(config.documents, base),
    ...(config.transferStore === undefined ? {} : { transferStore: absoluteTransferStore(config.transferStore, base) }),
    identityProviders: Object.fromEntries(
      Object.entries(config.identityProviders).map(([name, provider]) => [name, absoluteIdentityProvider(provider, base)]),
    ),
    ...(config.messages === undefined ? {} : { messages: absoluteMessages(config.messages, base) }),
    outgoing: absoluteOutgoing(config.outgoing, base),
    revocation: absoluteRevocation(config.revocation, base),
    timeStamps: absoluteTimeStamps(config.timeStamps, base),
    ...(config.timeStampAuthority === undefined ? {} : { timeStampAuthority: absoluteTimeStampAuthority(config.timeStampAuthority, base) }),
    tenants: Object.fromEntries(Object.entries(config.tenants).map(([name, tenant]) => [name, absoluteTenant(tenant, base)])),
    ...(config.clientAuthority === undefined
      ? {}
      : {
          clientAuthority: {
            ...config.clientAuthority,
            certificate: resolve(base, config.clientAuthority.certificate),
            crossCertificates: config.clientAuthority.crossCertificates.map((file) => resolve(base, file)),
          },
        }),
    certificateAuthorities: Object.fromEntries(
      Object.entries(config.certificateAuthorities).map(([name, authority]) => [name, absoluteAuthority(authority, base)]),
    ),
  };
}
