import { parseArgs } from 'node:util';
import { version } from '../telemetry/version.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

/** sysexits.h, EX_USAGE. */
const usageExitCode = 64;

type Flags = Readonly<Record<string, string>>;

/**
 * Parses the command line of one of the service's programs: `--config FILE`, `--help`, `--version`,
 * and its own flags with their descriptions. Exits after help and version, and with code 64 for
 * unknown arguments.
 */
export function programArguments<F extends Flags>(
  program: string,
  flags: F,
): { config: string; flags: Readonly<Record<keyof F, boolean>> } {
  const usage = [
    `usage: ${program} [--config FILE]${Object.keys(flags)
      .map((name) => ` [--${name}]`)
      .join('')}`,
    '  --config FILE  configuration file; default: /etc/signetd/signetd.yaml',
    ...Object.entries(flags).map(([name, meaning]) => `  --${name}  ${meaning}`),
    '  --help, --version',
    '',
  ].join('\n');
  try {
    const { values } = parseArgs({
      options: {
        config: { type: 'string', default: '/etc/signetd/signetd.yaml' },
        help: { type: 'boolean', default: false },
        version: { type: 'boolean', default: false },
        ...Object.fromEntries(Object.keys(flags).map((name) => [name, { type: 'boolean', default: false } as const])),
      },
    });
    if (values.help || values.version) {
      process.stdout.write(values.help ? usage : `${program} ${version()}\n`);
      process.exit(0);
    }
    const given = new Map(Object.entries(values));
    const chosen = Object.fromEntries(Object.keys(flags).map((name) => [name, given.get(name) === true]));
    // It has an entry for each flag.
    return { config: values.config, flags: chosen as Record<keyof F, boolean> };
  } catch (error) {
    process.stderr.write(`${program}: ${reasonOf(error)}\n${usage}`);
    process.exit(usageExitCode);
  }
}
