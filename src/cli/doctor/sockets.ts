import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Config } from '../../config/config.ts';
import { unitNames, type UnitNames } from '../../config/unit-names.ts';
import { fault, warning, type Diagnosis } from './diagnosis.ts';

const execute = promisify(execFile);
const systemctlMs = 5000;
const listenerNames = ['api', 'operations', 'public'] as const;
type ListenerName = (typeof listenerNames)[number];

/** What systemd says of a unit (systemctl show), by property. */
type Properties = Readonly<Record<string, string>>;

/** The units of a listener and of the daemon, as systemd knows them. */
export interface SocketUnits {
  readonly service: Properties;
  readonly sockets: Readonly<Record<ListenerName, Properties>>;
}

/**
 * Compares the configured listeners with the socket units: the daemon may open no network socket itself,
 * and does not start with others than the configured ones.
 * @param units undefined without systemd
 */
export async function sockets(
  configPath: string,
  { listeners }: Pick<Config, 'listeners'>,
  units: (names: UnitNames) => Promise<SocketUnits | undefined> = loadedUnits,
): Promise<Diagnosis[]> {
  const names = unitNames(configPath);
  const known = names === undefined ? undefined : await units(names);
  if (names === undefined || known === undefined || known.service['LoadState'] !== 'loaded') return [];
  return listenerNames.flatMap((name) => {
    const unit = known.sockets[name];
    if (unit['LoadState'] === 'not-found') return [];
    return diagnosisOf(name, unit, listeners[name], { names, mayListenItself: mayListen(known.service) }) ?? [];
  });
}

function diagnosisOf(
  name: ListenerName,
  unit: Properties,
  listener: { readonly port: number; readonly socketPath?: string | undefined } | undefined,
  { names, mayListenItself }: { readonly names: UnitNames; readonly mayListenItself: boolean },
): Diagnosis | undefined {
  const file = names.socketOf(name);
  const restart = `systemctl restart ${names.service}`;
  const isActive = unit['ActiveState'] === 'active';
  const isEnabled = unit['UnitFileState']?.startsWith('enabled') === true;
  if (listener === undefined) {
    if (!isActive && !isEnabled) return undefined;
    return fault(
      'sockets',
      `${file} is ${isActive ? 'active' : 'enabled'}, but the configuration has no listeners.${name}: run systemctl disable --now ${file}, then ${restart}`,
    );
  }
  if (unit['LoadState'] === 'masked') {
    return mayListenItself ? undefined : fault('sockets', `listeners.${name}: ${file} is masked: run systemctl unmask ${file}`);
  }
  if (unit['LoadState'] === 'bad-setting') {
    return fault(
      'sockets',
      `listeners.${name}: ${file} has no address: run systemctl edit ${file}, and set ListenStream= in the section [Socket]`,
    );
  }
  const isHeldForIt = isActive || isEnabled || pulledIn.includes(name);
  if (!isHeldForIt) {
    if (mayListenItself || listener.socketPath !== undefined) return undefined;
    return fault(
      'sockets',
      `listeners.${name}: ${file} is not enabled, and ${names.service} may open no network socket: run systemctl enable ${file}, then ${restart}`,
    );
  }
  const port = /:(\d+) \(Stream\)/.exec(unit['Listen'] ?? '')?.[1];
  if (port === undefined || listener.socketPath !== undefined || Number(port) === listener.port) return undefined;
  return warning(
    'sockets',
    `${file} listens on port ${port}, and listeners.${name}.port is ${listener.port}: the unit decides; change one of them (systemctl edit ${file}: an empty ListenStream=, then the new one)`,
  );
}

/** Units that signetd.service starts whether or not they are enabled (Wants=). */
const pulledIn: readonly ListenerName[] = ['api', 'operations'];

/** Whether a drop-in lets the daemon open network sockets that others can reach. */
function mayListen({ PrivateNetwork: isolated, RestrictAddressFamilies: families = '' }: Properties): boolean {
  return isolated === 'no' && (families === '' || families.includes('AF_INET'));
}

async function loadedUnits(names: UnitNames): Promise<SocketUnits | undefined> {
  try {
    const [own, api, operations, published] = await Promise.all([
      shown(names.service, ['LoadState', 'PrivateNetwork', 'RestrictAddressFamilies']),
      ...listenerNames.map(async (name) => shown(names.socketOf(name), ['LoadState', 'ActiveState', 'UnitFileState', 'Listen'])),
    ]);
    if (api === undefined || operations === undefined || published === undefined) return undefined;
    return { service: own, sockets: { api, operations, public: published } };
  } catch {
    return undefined;
  }
}

async function shown(unit: string, properties: readonly string[]): Promise<Properties> {
  const { stdout } = await execute('systemctl', ['show', unit, `--property=${properties.join(',')}`], { timeout: systemctlMs });
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
