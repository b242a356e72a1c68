import { parseArgs } from 'node:util';
import { ConfigError, loadTokenConfig } from './config/config.ts';
import { HostStartError, runHost } from './token/host/host.ts';
import { exitCodes } from './token/host/greeting.ts';

/**
 * The token host: the process that holds the PKCS#11 module. `--with-parent`: ends when its standard input does. `--probe`: tries what the token
 * can do, prints it as JSON and ends; no other host may run meanwhile.
 */
const { values } = parseArgs({
  options: { config: { type: 'string' }, 'with-parent': { type: 'boolean', default: false }, probe: { type: 'boolean', default: false } },
});
if (values['with-parent']) {
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('error', () => process.exit(0));
  process.stdin.resume();
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(0));
try {
  const config = loadTokenConfig(values.config ?? '/etc/signetd/signetd.yaml');
  if (values.probe) {
    // Only here does this thread load the module.
    const { inspectToken } = await import('./token/host/inspect.ts');
    const report = inspectToken(config);
    process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
    process.exit(report.missing.length === 0 ? 0 : exitCodes.capabilityMissing);
  }
  await runHost(config);
} catch (error) {
  process.stderr.write(`${JSON.stringify({ level: 'error', message: error instanceof Error ? error.message : String(error) })}\n`);
  process.exit(
    error instanceof HostStartError ? error.exitCode : error instanceof ConfigError ? exitCodes.configurationWrong : exitCodes.startFailed,
  );
}
