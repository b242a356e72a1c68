import { setDefaultHighWaterMark } from 'node:stream';
import { programArguments } from './config/arguments.ts';
import { loadConfig, type Config } from './config/config.ts';
import { ConfigError } from './config/config-error.ts';
import { Parts } from './daemon/parts.ts';
import { startService } from './daemon/start.ts';
import { closeFailedStart } from './daemon/stopping.ts';
import { beginProcess } from './service/own-process.ts';
import { withPriority } from './telemetry/journal-priority.ts';
import { createLog } from './telemetry/log.ts';
import { reasonOf } from './telemetry/reason-of.ts';
import { HostRefusedError } from './token/token.ts';

/** EX_CONFIG of sysexits(3): another start with this configuration would fail too. */
const exitConfig = 78;

/** Starts the service; where it cannot, closes what was opened before the error goes on. */
async function start(config: Config, configPath: string): Promise<void> {
  const log = createLog(config.log.level);
  process.on('unhandledRejection', (error) => {
    log.error('unhandled promise rejection', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
  const parts = new Parts();
  try {
    await startService({ config, configPath, log, parts });
  } catch (error) {
    await closeFailedStart(parts, log);
    throw error;
  }
}

/**
 * Octets that Node buffers of a body that nobody reads at the moment. Each may be a piece of its own,
 * which takes hundreds of octets; what is read at once is not limited by it.
 */
const bufferedMaxBytes = 4096;

const { config: configPath } = programArguments('signetd', {});
setDefaultHighWaterMark(false, bufferedMaxBytes);
beginProcess('signetd');
// State, sockets and logs are for this user alone.
process.umask(0o077);
try {
  await start(loadConfig(configPath), configPath);
} catch (error) {
  process.stderr.write(`${withPriority('error', `signetd cannot start: ${reasonOf(error)}`)}\n`);
  process.exit(error instanceof HostRefusedError ? error.exitCode : error instanceof ConfigError ? exitConfig : 1);
}
