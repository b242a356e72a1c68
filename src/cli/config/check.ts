import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadConfig, type Config } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { readableFiles } from '../../config/readable-files.ts';
import { groupNumber } from '../../service/native.ts';
import { printable } from '../printable.ts';
import type { Outcome } from '../outcome.ts';
import { checkAuthorities, checkAuthorityKeys, checkTenantProfiles, checkTimeStampAuthority } from './authority-checks.ts';
import { checkDocumentDirectories, checkDirectory, checkNotWritable, checkPrivateKey } from './file-checks.ts';
import { Findings, faultText } from './findings.ts';
import { checkDigitalIdentities } from './identity-checks.ts';
import { checkSocketPath, checkToken } from './token-checks.ts';
import { checkClientAuthority, checkRevocationLists, checkServerCertificate, checkValidity, readCertificates } from './tls-checks.ts';
import { readProvider } from '../../certificates/jwt/configured-providers.ts';
import { parseTokenJson } from '../../http/json/strict-json.ts';
import { silentLog } from '../../telemetry/silent-log.ts';

/**
 * `config check`: reports everything that would prevent the daemon from starting, as far as it can
 * be checked here.
 */
export async function configCheck(configPath: string): Promise<Outcome> {
  const { faults, notes } = await checkConfiguration(configPath);
  return {
    json: { faults, notes },
    text: faults.length === 0 ? `${printable(configPath)} is valid\n` : '',
    faults,
    notes,
  };
}

/** Makes all checks. */
export async function checkConfiguration(configPath: string): Promise<Findings> {
  const findings = new Findings(configPath);
  try {
    await checkAll(loadConfig(configPath), findings);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings.faults.push(...error.message.split('\n'));
  }
  return findings;
}

async function checkAll(config: Config, findings: Findings): Promise<void> {
  const { api } = config.listeners;
  checkNotWritable(findings.at('(file)'), findings.configPath);
  checkServerCertificate(findings, api);
  checkPrivateKey(findings.at('listeners.api.key'), api.key);
  checkClientAuthority(findings, api.clientCertificateAuthority);
  checkRevocationLists(findings, api, config.clientAuthority?.certificate);
  if (api.clientRevocationUrls.length > 0 && existsSync(api.clientRevocationDirectory))
    checkDirectory(findings.at('listeners.api.clientRevocationDirectory'), api.clientRevocationDirectory);
  checkToken(config, findings);
  checkSocketPath(findings.at('admin.socketPath'), config.admin.socketPath);
  if (config.admin.access === 'group') findings.at('admin.group').tryTo(() => groupNumber(config.admin.group));
  checkOperationsSocket(config, findings);
  if (config.state.kind === 'sqlite') checkDirectory(findings.at('state.path'), dirname(config.state.path));
  checkSyslog(config, findings);
  checkDocumentDirectories(findings, config);
  for (const { member, text } of readableFiles(config)) findings.at(member).fault(text);
  checkIdentityProviders(findings, config.identityProviders);
  checkAuthorities(findings, config.certificateAuthorities);
  checkTimeStampAuthority(findings, config);
  checkTenantProfiles(findings, config);
  checkDigitalIdentities(findings, config.tenants);
  await checkAuthorityKeys(findings, config);
}

function checkOperationsSocket({ listeners: { operations } }: Config, findings: Findings): void {
  const { socketPath, socketGroup } = operations;
  if (socketPath !== undefined) checkSocketPath(findings.at('listeners.operations.socketPath'), socketPath);
  if (socketGroup !== undefined) findings.at('listeners.operations.socketGroup').tryTo(() => groupNumber(socketGroup));
}

/** Checks the files for the connection to the syslog server, which is not tried here. */
function checkSyslog({ audit: { syslog } }: Config, findings: Findings): void {
  const { certificateAuthority, certificate } = syslog?.tls ?? {};
  const place = findings.at('audit.syslog.tls');
  for (const file of [certificateAuthority, certificate]) {
    for (const one of file === undefined ? [] : (place.tryTo(() => readCertificates(file)) ?? [])) checkValidity(place, file ?? '', one);
  }
}

/** Checks the files of each identity provider. Keys at a URL are fetched only by the service. */
export function checkIdentityProviders(findings: Findings, providers: Config['identityProviders']): void {
  for (const [name, config] of Object.entries(providers)) {
    // Only the service may be able to read its secrets (credentials of systemd).
    const visible = { ...config, decryptionKeys: [] };
    try {
      readProvider(name, visible, { log: silentLog, parseJson: parseTokenJson });
    } catch (error) {
      findings.addFault(faultText(error));
    }
  }
}
