import { parseArgs } from 'node:util';
import { ConfigError, loadTokenConfig } from './config/config.ts';
import { HostStartError, runHost } from './token/host/host.ts';
import { exitCodes } from './token/host/greeting.ts';

/** The token host: the process that holds the PKCS#11 module. `--with-parent`: ends when its standard input does. */
const { values } = parseArgs({ options: { config: { type: 'string' }, 'with-parent': { type: 'boolean', default: false } } });
if (values['with-parent']) {
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('error', () => process.exit(0));
  process.stdin.resume();
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
try {
  await runHost(loadTokenConfig(values.config ?? '/etc/signetd/signetd.yaml'));
} catch (error) {
  process.stderr.write(`${JSON.stringify({ level: 'error', message: error instanceof Error ? error.message : String(error) })}\n`);
  process.exit(
    error instanceof HostStartError ? error.exitCode : error instanceof ConfigError ? exitCodes.configurationWrong : exitCodes.startFailed,
  );
}
