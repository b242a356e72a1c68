import { dirname } from 'node:path';
import { ConfigError, loadConfig, type Config } from '../../config/config.ts';
import { readableFiles } from '../../config/readable-files.ts';
import { groupNumber } from '../../service/accounts.ts';
import { printable } from '../printable.ts';
import type { Outcome } from '../outcome.ts';
import { checkAuthorities, checkAuthorityKeys, checkTenantProfiles } from './authority-checks.ts';
import { checkDocumentDirectories } from './document-checks.ts';
import { checkDirectory, checkNotWritable, checkPrivate } from './file-checks.ts';
import { Findings } from './findings.ts';
import { checkIdentityProviders } from './identity-provider-checks.ts';
import { checkSocketPath, checkToken } from './token-checks.ts';
import { checkTimeStampAuthority } from './time-stamp-checks.ts';
import { checkClientAuthority, checkRevocationLists, checkServerCertificate } from './tls-checks.ts';

/** `config check`: everything that would keep the daemon from starting, as far as it can be seen from here. */
export async function configCheck(configPath: string): Promise<Outcome> {
  const findings = new Findings(configPath);
  try {
    await checkAll(loadConfig(configPath), findings);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings.faults.push(...error.message.split('\n'));
  }
  const { faults, notes } = findings;
  return {
    json: { faults, notes },
    text: faults.length === 0 ? `${printable(configPath)} is good\n` : '',
    faults,
    notes,
  };
}

async function checkAll(config: Config, findings: Findings): Promise<void> {
  const { api } = config.listeners;
  checkNotWritable(findings.at('(file)'), findings.configPath);
  checkServerCertificate(findings, api);
  checkPrivate(findings.at('listeners.api.key'), api.key);
  checkClientAuthority(findings, api.clientCertificateAuthority);
  checkRevocationLists(findings, api);
  checkToken(config, findings);
  checkSocketPath(findings.at('admin.socketPath'), config.admin.socketPath);
  if (config.admin.access === 'group') findings.at('admin.group').tryTo(() => groupNumber(config.admin.group));
  checkOperationsSocket(config, findings);
  if (config.state.kind === 'sqlite') checkDirectory(findings.at('state.path'), dirname(config.state.path));
  checkDocumentDirectories(findings, config);
  for (const { member, text } of readableFiles(config)) findings.at(member).fault(text);
  checkIdentityProviders(findings, config.identityProviders);
  checkAuthorities(findings, config.certificateAuthorities);
  checkTimeStampAuthority(findings, config);
  checkTenantProfiles(findings, config);
  await checkAuthorityKeys(findings, config);
}

function checkOperationsSocket({ listeners: { operations } }: Config, findings: Findings): void {
  const { socketPath, socketGroup } = operations;
  if (socketPath !== undefined) checkSocketPath(findings.at('listeners.operations.socketPath'), socketPath);
  if (socketGroup !== undefined) findings.at('listeners.operations.socketGroup').tryTo(() => groupNumber(socketGroup));
}
