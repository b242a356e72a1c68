import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { absoluteAuthority, AuthorityName, CertificateAuthority } from './authority-config.ts';
import { LimitsConfig } from './limits-config.ts';
import { AdminConfig } from './admin-config.ts';
import { ClientRevocationLists, connectionLimits } from './connection-config.ts';
import { fileOrCredential } from './credential-file.ts';
import { absoluteDocuments, absoluteTransferStore, AllowedDirectories, DocumentsConfig, TransferStoreConfig } from './documents-config.ts';
import { absoluteIdentityProvider, IdentityProvider, identityProviderFaults } from './identity-provider-config.ts';
import { absoluteMessages, MessagesConfig, OtpText } from './messages-config.ts';
import { SessionsConfig } from './sessions-config.ts';
import { CertificateProfile, keyTypes } from './profile.ts';
import { absoluteState, SecretReference, StateConfig } from './state-config.ts';

const FilePath = z.string().min(1);
const Port = z.int().min(0).max(65_535);
const PathPrefix = z.string().regex(/^(\/[A-Za-z0-9_-]+)+$/, 'a path prefix such as /sign');

/** The section that the token host reads too. */
export const TokenConfig = z.strictObject({
  /** What is particular to the HSM: a name in `native-config/`, or the path of a file of the same form. */
  profile: z
    .string()
    .regex(/^([a-z0-9-]+|.*\/[^/]+\.yaml)$/, 'the name of a profile, or a path to a .yaml file')
    .default('softhsm2'),
  /** The PKCS#11 module; absent: the first path of the profile that exists. */
  modulePath: FilePath.optional(),
  /** Binds the module to its own libcrypto, and not to the OpenSSL that Node exports. */
  isolateModule: z.boolean().default(false),
  label: z.string().min(1).max(32),
  pin: SecretReference,
  threads: z.int().min(1).max(64).default(2),
  callTimeoutSeconds: z.number().positive().max(600).default(30),
  queueMaxRequests: z.int().positive().default(4096),
  /** How long requests wait for a token host that is away before they are refused at once. */
  outageSeconds: z.number().positive().max(600).default(10),
  /** The host is replaced after so many requests or so long, since vendors' modules lose memory. */
  recycleAfterRequests: z.int().positive().default(5_000_000),
  recycleAfterSeconds: z
    .int()
    .positive()
    .default(24 * 3600),
  /** `spawn`: the daemon starts and restarts the host. `external`: somebody else does (systemd); the daemon connects. */
  host: z.enum(['spawn', 'external']).default('external'),
  socketPath: FilePath.default('/run/signetd-token/token.sock'),
  /** Further environment of the host, such as SOFTHSM2_CONF. */
  environment: z.record(z.string(), z.string()).default({}),
});
export type TokenConfig = z.output<typeof TokenConfig>;

const Tenant = z.strictObject({
  certificateAuthority: z.string().min(1),
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
  /** DIGEST value SHA_1 and SHA-1 digests; broken for new signatures, hence off. */
  allowSha1: z.boolean().default(false),
  /** What sendOTP does with a one-time password: answer it, or send it to the subscriber of the key. */
  otpDelivery: z.enum(['RESPONSE', 'MESSAGE']).default('RESPONSE'),
  otpText: OtpText.optional().describe("What the tenant's subscribers read instead of messages.otpText."),
  readDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.readDirectories."),
  writeDirectories: AllowedDirectories.optional().describe("The tenant's own list instead of documents.writeDirectories."),
});

const Audit = z.strictObject({
  /** False: nothing is recorded. For measurements; a service that signs for others needs its audit log. */
  enabled: z.boolean().default(true),
  directory: FilePath.default('/var/log/signetd/audit'),
  /** Name of the log. Instances that share a state store have one each. */
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/)
    .default('signetd'),
  checkpointSeconds: z.number().positive().max(3600).default(60),
  checkpointRecords: z.int().positive().default(1000),
  /** A file that has grown to this is closed, and the next one goes on. */
  rotateBytes: z
    .int()
    .min(4096)
    .default(64 * 1024 * 1024),
});

/** Keys made ahead on the token, so that createCertificate waits for none. The types are those of the tenants' profiles. */
const KeyPool = z.strictObject({
  /** Of each type; 0: none. */
  keys: z.int().min(0).max(1000).default(8),
  keysByType: z.partialRecord(z.enum(keyTypes), z.int().min(0).max(1000)).default({}),
});

export const Config = z.strictObject({
  listeners: z.strictObject({
    api: z.strictObject({
      host: z.string().default('0.0.0.0'),
      port: Port.default(8443),
      certificate: FilePath,
      /** A file, or `credential:<name>` for one that systemd hands over. */
      key: FilePath,
      clientCertificateAuthority: FilePath,
      clientRevocationLists: ClientRevocationLists,
    }),
    operations: z
      .strictObject({
        host: z.string().default('127.0.0.1'),
        port: Port.default(9443),
        ...connectionLimits({ connectionsMax: 100, idleTimeoutSeconds: 60 }),
      })
      .prefault({}),
    public: z
      .strictObject({
        host: z.string().default('0.0.0.0'),
        port: Port.default(8080),
        ...connectionLimits({ connectionsMax: 500, idleTimeoutSeconds: 10 }),
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
      })
      .optional()
      .describe('Plain HTTP that anyone may reach, for what is public by nature. Absent: no such listener; {} has its defaults.'),
  }),
  paths: z.strictObject({ signRoot: PathPrefix.default('/sign'), ftmRoot: PathPrefix.default('/ftm') }).prefault({}),
  limits: LimitsConfig.prefault({}),
  token: TokenConfig,
  state: StateConfig.prefault({}),
  keyPool: KeyPool.prefault({}),
  sessions: SessionsConfig.prefault({}),
  audit: Audit.prefault({}),
  certificateAuthorities: z.record(AuthorityName, CertificateAuthority),
  admin: AdminConfig.prefault({}),
  documents: DocumentsConfig.prefault({}),
  transferStore: TransferStoreConfig.optional().describe('The file transfer store (FTM). Absent: there is none; {} has its defaults.'),
  identityProviders: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), IdentityProvider)
    .default({})
    .describe('Issuers of JSON Web Tokens, by names that tenants refer to.'),
  messages: MessagesConfig.optional().describe('Gateways for messages to subscribers. Absent: nothing is sent.'),
  tenants: z.record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/), Tenant),
  log: z.strictObject({ level: z.enum(['error', 'warn', 'info', 'debug']).default('info') }).prefault({}),
});
export type Config = z.output<typeof Config>;

/** The configuration is wrong: what an operator reads, one line a fault. */
export class ConfigError extends Error {}

/** Reads the YAML file. Relative paths in it are relative to it. @throws {ConfigError} */
export function loadConfig(path: string): Config {
  const config = check(Config, readYaml(path), path);
  const faults = Object.entries(config.tenants)
    .filter(([, { certificateAuthority }]) => config.certificateAuthorities[certificateAuthority] === undefined)
    .map(
      ([name, { certificateAuthority }]) =>
        `${path}: tenants.${name}.certificateAuthority: no certificate authority "${certificateAuthority}" is configured`,
    );
  const undelivered = Object.entries(config.tenants).find(([, { otpDelivery }]) => otpDelivery === 'MESSAGE');
  if (undelivered !== undefined && config.messages === undefined) {
    faults.push(`${path}: tenants.${undelivered[0]}.otpDelivery: MESSAGE needs a gateway, and there is no section messages`);
  }
  faults.push(...identityProviderFaults(config.identityProviders, config.tenants).map((fault) => `${path}: ${fault}`));
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return withAbsolutePaths(config, dirname(resolve(path)));
}

/** Reads what is needed before there are authorities and tenants: where the token and the state are. @throws {ConfigError} */
export function loadFoundations(path: string): Pick<Config, 'token' | 'state'> {
  const base = dirname(resolve(path));
  const { token, state } = check(z.object({ token: TokenConfig, state: StateConfig.prefault({}) }), readYaml(path), path);
  return { token: absoluteToken(token, base), state: absoluteState(state, base) };
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
  const { api } = config.listeners;
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

function absoluteToken(token: TokenConfig, base: string): TokenConfig {
  const pin = token.pin.startsWith('file:') ? `file:${resolve(base, token.pin.slice('file:'.length))}` : token.pin;
  return {
    ...token,
    pin,
    ...(token.profile.includes('/') ? { profile: resolve(base, token.profile) } : {}),
    socketPath: resolve(base, token.socketPath),
    ...(token.modulePath === undefined ? {} : { modulePath: resolve(base, token.modulePath) }),
  };
}
