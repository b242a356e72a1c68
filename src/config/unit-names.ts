/** Names of the systemd units that run an instance, and of the sockets of its listeners. */
export interface UnitNames {
  readonly service: string;
  readonly socketOf: (listener: string) => string;
}

/**
 * Returns the units of the package that use a configuration file: signetd.service for the usual one, and
 * the templates for a further instance; undefined for a file that no unit uses.
 */
export function unitNames(configPath: string): UnitNames | undefined {
  const name = /^\/etc\/signetd\/([A-Za-z0-9:_.-]+)\.yaml$/.exec(configPath)?.[1];
  if (name === undefined) return undefined;
  const instance = name === 'signetd' ? '' : `@${name}`;
  return { service: `signetd${instance}.service`, socketOf: (listener) => `signetd-${listener}${instance}.socket` };
}
