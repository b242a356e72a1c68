import { setTimeout as delay } from 'node:timers/promises';
import { programArguments } from './config/arguments.ts';
import { loadTokenConfig } from './config/config.ts';
import { ConfigError } from './config/config-error.ts';
import type { TokenConfig } from './config/token-config.ts';
import { FailedStarts } from './service/failed-starts.ts';
import { beginProcess } from './service/own-process.ts';
import { serviceManager } from './service/service-manager.ts';
import { Watchdog } from './service/watchdog.ts';
import { withPriority } from './telemetry/journal-priority.ts';
import { reasonOf } from './telemetry/reason-of.ts';
import { HostStartError, runHost, type RunningHost } from './token/host/host.ts';
import { exitCodes } from './token/host/exit-codes.ts';
import { peersOf } from './token/host/peers.ts';
import { leaveStartFailure } from './token/start-failure.ts';

function say(level: 'error' | 'warn', message: string): void {
  process.stderr.write(`${withPriority(level, JSON.stringify({ level, message }))}\n`);
}

/** The token host: the process that holds the PKCS#11 module. */
const { config: configPath, flags } = programArguments('token-host', {
  'with-parent': 'end when standard input does',
  'for-operator': "serve one command of an operator: keys of CAs also sign certificates of CAs; only for this process's user",
});
beginProcess('signetd-token');
if (flags['with-parent']) {
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('error', () => process.exit(0));
  process.stdin.resume();
}
let host: RunningHost | undefined;
let config: TokenConfig | undefined;
const failedStarts = new FailedStarts(flags['with-parent'] ? undefined : process.env['RUNTIME_DIRECTORY']);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (host !== undefined) {
      host.retire('stop requested');
      return;
    }
    failedStarts.forget();
    process.exit(0);
  });
}
const manager = serviceManager(process.env, process.pid, (reason) => {
  say('warn', `the service manager accepts no message: ${reason}`);
});
try {
  config = loadTokenConfig(configPath);
  manager.status('starting: logging in to the token');
  host = await runHost(config, { servedBy: flags['for-operator'] ? 'operator' : 'service' });
  // Calls of the module have their own deadlines; only this thread is left to watch.
  new Watchdog(manager, [], () => undefined).start();
  manager.ready(`serving token "${config.label}" on ${host.threads} threads`);
  failedStarts.forget();
} catch (error) {
  const code = exitCodeOf(error);
  say('error', reasonOf(error));
  if (config?.host === 'external') tellDaemon(config, code, reasonOf(error));
  if (code === exitCodes.startFailed) await waitAfterFailure(reasonOf(error));
  else failedStarts.forget();
  process.exit(code);
}

/**
 * Waits after a failed start, longer after each: a token that is missing may appear. It has come as far
 * as it can, so units that start after it need not wait for its next attempt.
 */
async function waitAfterFailure(reason: string): Promise<void> {
  const seconds = failedStarts.add(reason);
  if (seconds === 0) return;
  say('error', `the next attempt follows in ${seconds} s`);
  new Watchdog(manager, [], () => undefined).start();
  manager.ready(`not ready: ${reason}; the next attempt is at ${new Date(Date.now() + 1000 * seconds).toISOString()}`);
  await delay(1000 * seconds);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof HostStartError) return error.exitCode;
  return error instanceof ConfigError ? exitCodes.configurationWrong : exitCodes.startFailed;
}

/** Whoever started this host sees only its exit code and its log. */
function tellDaemon(tokenConfig: TokenConfig, code: number, reason: string): void {
  try {
    leaveStartFailure(tokenConfig.socketPath, peersOf(tokenConfig, process.getuid?.() ?? 0).socketMode, code, reason);
  } catch (error) {
    say('warn', `the daemon cannot be told why: ${reasonOf(error)}`);
  }
}
