import { ConfigError } from './config-error.ts';
import { locatedFault } from './yaml-file.ts';

/**
 * Members that a reload can change. Everything else is fixed at startup: addresses and paths, the
 * token, the state store, the audit log, the admin socket. A new member of the configuration needs
 * a restart unless it is listed here and a participant of the reload applies it.
 */
const changeable = [
  'certificateAuthorities',
  'clientAuthority',
  'csc',
  'documents',
  'limits.answerMaxBytes',
  'identityProviders',
  'limits.documentsMax',
  'limits.bodiesMaxBytes',
  'limits.bodiesMaxBytesPerClient',
  'limits.connectionsMaxPerClient',
  'limits.drainSeconds',
  'limits.jsonBodyMaxBytes',
  'limits.jsonValuesMax',
  'limits.keptAnswersMaxBytes',
  'limits.keptAnswersMaxBytesPerClient',
  'limits.messagesPerMinute',
  'limits.otpsPerMinute',
  'limits.requestsBurst',
  'limits.requestsMax',
  'limits.requestsMaxPerClient',
  'limits.requestsPerSecond',
  'limits.wrongSecretsBurstPerClient',
  'limits.wrongSecretsBurstPerTenant',
  'limits.wrongSecretsPerMinutePerClient',
  'limits.wrongSecretsPerMinutePerTenant',
  'listeners.api.certificate',
  'listeners.api.clientCertificateAuthority',
  'listeners.api.clientRevocationLists',
  'listeners.api.clientRevocationRefreshSeconds',
  'listeners.api.clientRevocationUrls',
  'listeners.api.key',
  'log.level',
  'messages',
  'outgoing.certificateAuthority',
  'outgoing.clientHosts',
  'outgoing.connectionsMax',
  'outgoing.privateNetworks',
  'outgoing.traceContext',
  'revocation',
  'sessions',
  'tenants',
  'timeStampAuthority',
  'timeStamps',
  'visibleSignatures',
] as const;

/**
 * Returns the members that differ, as dotted paths such as `tenants.demo.allowSha1`. A list is one
 * member, and so is a section that is now of another `kind`, since its members have defaults that
 * nobody wrote.
 */
export function changedMembers(before: unknown, after: unknown, at = ''): string[] {
  if (!isObject(before) || !isObject(after)) return JSON.stringify(before) === JSON.stringify(after) ? [] : [at];
  if (typeof after['kind'] === 'string' && before['kind'] !== after['kind']) return [at];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].toSorted().flatMap((name) => changedMembers(before[name], after[name], at === '' ? name : `${at}.${name}`));
}

const cannotChange = ': this cannot change while signetd runs; restart it';

/** Returns those of the members that a reload cannot change: only a restart does. */
export function fixedMembers(changed: readonly string[]): string[] {
  return changed.filter((member) => !changeable.some((prefix) => member === prefix || member.startsWith(`${prefix}.`)));
}

/** @throws {ConfigError} naming each member that a running service cannot change */
export function checkChangeable(changed: readonly string[], path: string): void {
  const fixed = fixedMembers(changed);
  if (fixed.length === 0) return;
  throw new ConfigError(fixed.map((member) => locatedFault(path, `${member}${cannotChange}`)).join('\n'));
}

/** Whether a fault of a reload is one of `checkChangeable`: nothing is wrong with the file. */
export function needsRestart(fault: string): boolean {
  return fault.endsWith(cannotChange);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
