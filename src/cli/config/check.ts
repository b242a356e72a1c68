import { dirname } from 'node:path';
import { ConfigError, loadConfig, type Config } from '../../config/config.ts';
import { modulePath } from '../../token/host/module-profile.ts';
import { pinFrom } from '../../token/operator/pin.ts';
import { printable } from '../printable.ts';
import type { Outcome } from '../outcome.ts';
import { checkAuthorities, checkAuthorityKeys } from './authority-checks.ts';
import { checkDirectory, checkNotWritable, checkPrivate } from './file-checks.ts';
import { Findings } from './findings.ts';
import { checkClientAuthority, checkRevocationLists, checkServerCertificate } from './tls-checks.ts';

/** A Unix socket's path has at most 107 bytes; the threads' sockets add a dot and a number of up to two digits. */
const maxSocketPathBytes = 104;

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
  if (config.state.kind === 'sqlite') checkDirectory(findings.at('state.path'), dirname(config.state.path));
  checkAuthorities(findings, config.certificateAuthorities);
  await checkAuthorityKeys(findings, config);
}

function checkToken({ token }: Config, findings: Findings): void {
  if (Buffer.byteLength(token.socketPath) > maxSocketPathBytes) {
    findings.at('token.socketPath').fault(`${token.socketPath}: the path of a socket has at most ${maxSocketPathBytes} bytes here`);
  }
  if (token.pin.startsWith('credential:') && process.env['CREDENTIALS_DIRECTORY'] === undefined) {
    findings.at('token.pin').note(`${token.pin} is not checked: systemd gives credentials to its services alone`);
  } else {
    findings.at('token.pin').tryTo(() => pinFrom(token.pin));
  }
  findings.at(token.modulePath === undefined ? 'token.profile' : 'token.modulePath').tryTo(() => modulePath(token));
}
