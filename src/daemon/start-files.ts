import { readFileSync } from 'node:fs';
import { openClientAuthority } from '../certificates/configured-authorities.ts';
import { loadAuthority } from '../certificates/configured-authority.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import { readProvider } from '../certificates/jwt/configured-providers.ts';
import { checkProfiles } from '../certificates/profile-check.ts';
import { tenantId } from '../clients/caller.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { readSecretBytes } from '../config/secret-reference.ts';
import { parseTokenJson } from '../http/json/strict-json.ts';
import { readTlsMaterial } from '../http/tls/material.ts';
import { groupNumber } from '../service/native.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { silentLog } from '../telemetry/silent-log.ts';
import { loadTimeStampSigner } from '../timestamp/load-signer.ts';
import { readDigitalIdentity } from '../twoddoc/identities/digital-identity.ts';
import { readCertificateText } from '../x509/certificate.ts';
import { approversGroup } from './administration.ts';
import { checkLevelFiles } from './level-services.ts';

/** Nothing is signed with what is read here. */
const noToken = { signAsService: async () => Promise.reject(new Error('the token is not open yet')) };

/** Does work for a member of the configuration. Returns false if it has a fault, which is kept. */
type Look = (member: string, work: () => unknown) => boolean;

/**
 * Reads every file that the configuration names and every start reads, and looks for its groups,
 * before the state store, the token and the audit log are opened: a start that fails for one of them
 * has changed nothing.
 * @throws {ConfigError} with one line for each fault
 */
export function checkStartFiles(config: Config): void {
  const { listeners, certificateAuthorities, timeStampAuthority, identityProviders, tenants, admin, audit, messages } = config;
  const faults: string[] = [];
  const look: Look = (member, work) => {
    try {
      work();
      return true;
    } catch (error) {
      for (const line of reasonOf(error).split('\n')) faults.push(line.startsWith(member) ? line : `${member}: ${line}`);
      return false;
    }
  };
  look('listeners.api', () => readTlsMaterial(listeners.api));
  const { socketGroup } = listeners.operations;
  if (socketGroup !== undefined) look('listeners.operations.socketGroup', () => groupNumber(socketGroup));
  const hasGroup = admin.access !== 'group' || look('admin.group', () => groupNumber(admin.group));
  if (admin.approvals !== 1 && hasGroup) look('admin.approvers', () => approversGroup(admin));
  const authorities = new Map<string, CertificateIssuer>();
  for (const [name, files] of Object.entries(certificateAuthorities)) {
    look(`certificateAuthorities.${name}`, () => authorities.set(name, loadAuthority(noToken, files)));
  }
  look('clientAuthority', () => openClientAuthority(noToken, config));
  look('tenants', () => {
    checkProfiles(tenants, authorities);
  });
  if (timeStampAuthority !== undefined) {
    look('timeStampAuthority', () => loadTimeStampSigner(noToken, timeStampAuthority));
    for (const file of timeStampAuthority.formerCertificates)
      look('timeStampAuthority.formerCertificates', () => readCertificateText(readFileSync(file)));
  }
  for (const [name, provider] of Object.entries(identityProviders)) {
    look(`identityProviders.${name}`, () => readProvider(name, provider, { log: silentLog, parseJson: parseTokenJson }));
  }
  for (const [name, { twoDDoc }] of Object.entries(tenants)) {
    for (const [index, identity] of twoDDoc.identities.entries())
      look(`tenants.${name}.twoDDoc.identities.${index}`, () => readDigitalIdentity(tenantId(name), identity));
  }
  checkLevelFiles(config, look);
  const { tls } = audit.syslog ?? {};
  for (const member of ['certificateAuthority', 'certificate'] as const) {
    const file = tls?.[member];
    if (file !== undefined) look(`audit.syslog.tls.${member}`, () => readFileSync(file));
  }
  for (const [member, reference] of secretsOf(messages, tls)) {
    if (reference !== undefined) look(member, () => readSecretBytes(reference).fill(0));
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
}

/** References to secrets that are needed long after the start began. */
function secretsOf(
  messages: Config['messages'],
  tls: { readonly key?: string | undefined } | undefined,
): (readonly [string, string | undefined])[] {
  const { sms, email } = messages ?? {};
  return [
    ['audit.syslog.tls.key', tls?.key],
    ['messages.email.password', email?.password],
    ['messages.sms.basicAuthentication.password', sms?.basicAuthentication?.password],
    ...Object.entries(sms?.secrets ?? {}).map(([name, reference]) => [`messages.sms.secrets.${name}`, reference] as const),
  ];
}
