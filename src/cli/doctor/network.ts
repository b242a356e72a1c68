import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Config } from '../../config/config.ts';
import { unitNames } from '../../config/unit-names.ts';
import { fault, type Diagnosis } from './diagnosis.ts';

const execute = promisify(execFile);
const systemctlMs = 5000;

/**
 * Diagnoses whether the daemon has the network that its configuration needs: its unit has none
 * unless a drop-in says so (docs/units.md).
 * @param isolated whether the unit has no network; undefined without systemd, or without the unit
 */
export async function network(
  configPath: string,
  config: Config,
  isolated: (unit: string) => Promise<boolean | undefined> = isUnitIsolated,
): Promise<Diagnosis[]> {
  const unit = unitNames(configPath)?.service;
  const members = membersWithServers(config);
  if (unit === undefined || members.length === 0 || (await isolated(unit)) !== true) return [];
  const drop = '/usr/share/doc/signetd/examples/network.conf';
  return [
    fault(
      'network',
      `${unit} has no network (PrivateNetwork=yes), but ${members.join(', ')} ${members.length === 1 ? 'needs' : 'need'} one: ` +
        `copy ${drop} to /etc/systemd/system/${unit}.d/, set its IPAddressAllow=, then run systemctl daemon-reload and systemctl restart ${unit.replace(/\.service$/, '')}`,
    ),
  ];
}

/** Returns the members that make the daemon open connections over IP, also to this machine. */
function membersWithServers({
  state,
  messages,
  timeStamps,
  revocation,
  identityProviders,
  transferStore,
  audit,
  outgoing,
  listeners,
}: Config): string[] {
  const named: readonly (readonly [string, boolean])[] = [
    ['state.host', state.kind === 'postgresql' && !state.host.startsWith('/')],
    ['messages.sms', messages?.sms !== undefined],
    ['messages.email', messages?.email !== undefined],
    ['timeStamps.urls', timeStamps.urls.length > 0],
    ['revocation', revocation.crlUrls.length + revocation.ocspUrls.length + revocation.anchors.length > 0],
    ['listeners.api.clientRevocationUrls', listeners.api.clientRevocationUrls.length > 0],
    ['outgoing.clientHosts', outgoing.clientHosts.length > 0],
    ['transferStore.s3', transferStore?.s3 !== undefined],
    ['audit.syslog', audit.syslog !== undefined],
  ];
  return [
    ...named.filter(([, needs]) => needs).map(([member]) => member),
    ...Object.entries(identityProviders).flatMap(([name, { keys }]) => ('url' in keys ? [`identityProviders.${name}.keys`] : [])),
  ];
}

async function isUnitIsolated(unit: string): Promise<boolean | undefined> {
  try {
    const { stdout } = await execute('systemctl', ['show', unit, '--property=LoadState', '--property=PrivateNetwork'], {
      timeout: systemctlMs,
    });
    const lines = stdout.split('\n');
    return lines.includes('LoadState=loaded') ? lines.includes('PrivateNetwork=yes') : undefined;
  } catch {
    return undefined;
  }
}
