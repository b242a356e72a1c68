import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { parse, parseDocument, stringify } from 'yaml';
import type { PublicationUrls } from '../config/profile.ts';
import { messagesSection, type GatewayPorts } from './gateway-settings.ts';
import { identityTenant, twoDDocSection } from './digital-identity.ts';
import { identityProviderName, identityProviderSection } from './identity-provider.ts';
import { adminSocketPath, layout, tokenSocketPath } from './layout.ts';
import { loopback } from './ports.ts';
import { outgoingSections, type TimeStampAuthorityEntry } from './time-stamps.ts';
import { tlsFiles } from './tls-material.ts';
import { tokenLabel } from './development-token.ts';

export interface Ports {
  readonly api: number;
  readonly operations: number;
  readonly public: number;
}

/** A certificate authority's section of the configuration. */
export interface AuthorityEntry {
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly keyId: string;
  readonly urls: PublicationUrls;
}

/** The root and the issuing CA, by name. */
export type AuthorityEntries = Readonly<Record<'issuing' | 'root', AuthorityEntry>>;

const gibibyte = 1024 ** 3;

const keyTypes = { demo: 'RSA-2048', other: 'P-256', p384: 'P-384', otp: 'P-256' } as const;
/** The tenant whose one-time passwords go to the subscribers. */
const otpTenant = 'otp';

/** Country of subjects whose token names none. */
const country = 'FR';

/** Sections of the quickstart's own authorities. */
export interface OwnAuthorities {
  readonly certificateAuthorities: AuthorityEntries;
  readonly timeStampAuthority: TimeStampAuthorityEntry;
}

/**
 * Writes the service's configuration; before the authorities exist, it has what the token host
 * needs.
 */
export function writeConfig(ports: Ports, authorities: OwnAuthorities | undefined, gateways?: GatewayPorts): void {
  const config = {
    listeners: {
      api: {
        host: loopback,
        port: ports.api,
        certificate: tlsFiles.server,
        key: tlsFiles.serverKey,
        clientCertificateAuthority: tlsFiles.authority,
        clientRevocationLists: [tlsFiles.revocationList],
      },
      operations: { host: loopback, port: ports.operations },
      public: { host: loopback, port: ports.public, ...highPublicLimits },
    },
    token: {
      profile: 'softhsm2',
      label: tokenLabel,
      pin: `file:${layout.token.pin}`,
      threads: 2,
      host: 'spawn',
      socketPath: tokenSocketPath(),
      accountDirectory: layout.tokenAccount,
      environment: { SOFTHSM2_CONF: layout.token.softhsmConfig },
    },
    paths: { cscRoot },
    state: { path: layout.state },
    audit: { directory: layout.audit },
    admin: { socketPath: adminSocketPath() },
    ...documentSections(),
    ...(gateways === undefined ? {} : { messages: messagesSection(gateways) }),
    identityProviders: identityProviderSection(),
    certificateAuthorities: {},
    ...authorities,
    ...outgoingSections(publicUrlOf(ports.public)),
    tenants: Object.fromEntries(
      Object.entries(keyTypes).map(([tenant, keyType]) => [
        tenant,
        {
          ...tenantSection(keyType),
          ...(tenant === identityTenant ? { twoDDoc: twoDDocSection() } : {}),
          ...(tenant === otpTenant && gateways !== undefined ? { otpDelivery: 'MESSAGE' } : {}),
        },
      ]),
    ),
    limits: { ...highLimits, requestsMaxPerClient: 1024 },
    log: { level: 'info' },
  };
  writeFileSync(layout.config, `# Written by the quickstart; read at each start of the service.\n${stringify(config)}`, {
    mode: 0o600,
  });
}

/** Where the quickstart offers the API of the Cloud Signature Consortium. */
export const cscRoot = '/csc';

function tenantSection(keyType: string): object {
  return {
    certificateAuthority: 'issuing',
    identityProviders: [identityProviderName],
    timeStampsFromAnyRoot: true,
    profile: { keyType, defaultValidityMinutes: 60, maxValidityMinutes: 1440, subject: { defaultCountry: country } },
  };
}

/** Adds the tenant whose one-time passwords are delivered, unless there is one of its name. */
export function addOtpTenant(): void {
  const config = parseDocument(readFileSync(layout.config, 'utf8'));
  if (config.hasIn(['tenants', otpTenant])) return;
  config.setIn(['tenants', otpTenant], { ...tenantSection(keyTypes[otpTenant]), otpDelivery: 'MESSAGE' });
  writeFileSync(layout.config, config.toString(), { mode: 0o600 });
}

/** Sections for callers' files: permitted directories, and the transfer store. */
function documentSections(): Readonly<Record<'documents' | 'transferStore', object>> {
  return {
    documents: { readDirectories: [layout.read], writeDirectories: [layout.write] },
    transferStore: { directory: layout.files },
  };
}

/** High enough for load tests of the quickstart. */
const highLimits = {
  requestsPerSecond: 1_000_000,
  requestsBurst: 1_000_000,
  otpsPerMinute: 1_000_000,
  messagesPerMinute: 1_000_000,
  wrongSecretsBurstPerClient: 1_000_000,
  wrongSecretsPerMinutePerClient: 1_000_000,
  wrongSecretsBurstPerTenant: 1_000_000,
  wrongSecretsPerMinutePerTenant: 1_000_000,
  keptAnswersMaxBytesPerClient: 64 * gibibyte,
  keptAnswersMaxBytes: 64 * gibibyte,
  connectionsMaxUnadmittedPerAddress: 1024,
};

const highPublicLimits = {
  connectionsMaxPerAddress: 500,
  requestsPerSecond: 100_000,
  ocspSignaturesPerSecond: 100_000,
  timeStampsPerSecond: 100_000,
};

function addHighLimits(): void {
  const document = parseDocument(readFileSync(layout.config, 'utf8'));
  const sections = [
    { at: ['limits'], limits: highLimits },
    { at: ['listeners', 'public'], limits: highPublicLimits },
  ];
  let changed = false;
  for (const { at, limits } of sections) {
    if (!document.hasIn(at)) continue;
    for (const [name, limit] of Object.entries(limits)) {
      if (document.hasIn([...at, name])) continue;
      document.setIn([...at, name], limit);
      changed = true;
    }
  }
  if (changed) writeFileSync(layout.config, String(document));
}

/**
 * Completes the configuration of a quickstart that an earlier version made. `publicUrl`: undefined
 * if it had no public listener.
 */
export function completeConfig(gateways: GatewayPorts, publicUrl: string | undefined): void {
  const known: unknown = parse(readFileSync(layout.config, 'utf8'));
  if (typeof known !== 'object' || known === null) return;
  if (!('outgoing' in known)) takeTimeStampsFromAnyRoot();
  const sections = {
    admin: { socketPath: adminSocketPath() },
    messages: messagesSection(gateways),
    paths: { cscRoot },
    ...documentSections(),
    ...(publicUrl === undefined ? {} : outgoingSections(publicUrl)),
  };
  for (const [name, section] of Object.entries(sections)) {
    if (!(name in known)) appendFileSync(layout.config, stringify({ [name]: section }));
  }
  if (!('identityProviders' in known)) addIdentityProvider();
  addHighLimits();
}

/** Adds the digital identity to its tenant, unless the section exists. */
export function addDigitalIdentity(): void {
  const config = parseDocument(readFileSync(layout.config, 'utf8'));
  const tenant = ['tenants', identityTenant];
  if (!config.hasIn([...tenant, 'profile']) || config.hasIn([...tenant, 'twoDDoc'])) return;
  config.setIn([...tenant, 'twoDDoc'], twoDDocSection());
  writeFileSync(layout.config, config.toString(), { mode: 0o600 });
}

function addIdentityProvider(): void {
  const config = parseDocument(readFileSync(layout.config, 'utf8'));
  config.set('identityProviders', identityProviderSection());
  for (const tenant of Object.keys(keyTypes)) {
    if (!config.hasIn(['tenants', tenant, 'profile'])) continue;
    config.setIn(['tenants', tenant, 'identityProviders'], [identityProviderName]);
    config.setIn(['tenants', tenant, 'profile', 'subject', 'defaultCountry'], country);
  }
  writeFileSync(layout.config, config.toString(), { mode: 0o600 });
}

/** Adds the time-stamp authority, which needs more than text. */
export function addTimeStampAuthority(timeStampAuthority: TimeStampAuthorityEntry): void {
  appendFileSync(layout.config, stringify({ timeStampAuthority }));
}

function takeTimeStampsFromAnyRoot(): void {
  const config = parseDocument(readFileSync(layout.config, 'utf8'));
  for (const tenant of Object.keys(keyTypes))
    if (config.hasIn(['tenants', tenant, 'profile'])) config.setIn(['tenants', tenant, 'timeStampsFromAnyRoot'], true);
  writeFileSync(layout.config, config.toString(), { mode: 0o600 });
}

export function publicUrlOf(port: number): string {
  return `http://${loopback}:${port}`;
}
