import { setDefaultHighWaterMark } from 'node:stream';
import { programArguments } from './config/arguments.ts';
import { loadConfig, type Config } from './config/config.ts';
import { ConfigError } from './config/config-error.ts';
import { waitAfterFailure } from './daemon/failed-start.ts';
import { Parts } from './daemon/parts.ts';
import { startService } from './daemon/start.ts';
import { startSockets } from './daemon/start-sockets.ts';
import { closeFailedStart } from './daemon/stopping.ts';
import { FailedStarts } from './service/failed-starts.ts';
import { beginProcess } from './service/own-process.ts';
import { serviceManager } from './service/service-manager.ts';
import { withPriority } from './telemetry/journal-priority.ts';
import { createLog } from './telemetry/log.ts';
import { reasonOf } from './telemetry/reason-of.ts';
import { HostRefusedError } from './token/token.ts';

const exitFailed = 1;
/** EX_CONFIG of sysexits(3): another start with this configuration would fail too. */
const exitConfig = 78;

/**
 * Starts the service; where it cannot, closes what was opened, and waits before the error goes on if
 * the service manager's next attempt may succeed.
 */
async function start(config: Config, configPath: string, failedStarts: FailedStarts): Promise<void> {
  const log = createLog(config.log.level);
  process.on('unhandledRejection', (error) => {
    log.error('unhandled promise rejection', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
  const manager = serviceManager(process.env, process.pid, (reason) => {
    log.warn('messages to the service manager fail', { reason });
  });
  const parts = new Parts();
  let sockets: ReadonlyMap<string, number> | undefined;
  try {
    sockets = await startSockets(configPath, config);
    await startService({ config, configPath, log, parts, manager, sockets });
    failedStarts.forget();
  } catch (error) {
    await closeFailedStart(parts, log);
    if (exitCodeOf(error) === exitFailed) await waitAfterFailure(reasonOf(error), failedStarts, { config, log, manager, sockets });
    throw error;
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof HostRefusedError) return error.exitCode;
  return error instanceof ConfigError ? exitConfig : exitFailed;
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
const failedStarts = new FailedStarts(process.env['RUNTIME_DIRECTORY']);
try {
  await start(loadConfig(configPath), configPath, failedStarts);
} catch (error) {
  // Nobody starts it again: signetctl must not say so.
  if (exitCodeOf(error) !== exitFailed) failedStarts.forget();
  process.stderr.write(`${withPriority('error', `signetd cannot start: ${reasonOf(error)}`)}\n`);
  process.exit(exitCodeOf(error));
}
