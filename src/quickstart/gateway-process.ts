import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processFlags } from '../service/node-flags.ts';
import { hasGateways, makeGatewaySecrets, readGatewayPorts, type GatewayPorts } from './gateway-settings.ts';
import { layout, projectDirectory } from './layout.ts';
import { firstPorts, freePort, isFree } from './ports.ts';

const startSeconds = 20;
const stopSeconds = 5;
const portAttempts = 10;
const portsTaken = 'EADDRINUSE';

/**
 * Starts the stand-ins unless they are running. The ports of the first start are kept, since the
 * service's configuration names them.
 */
export async function ensureGateways(): Promise<GatewayPorts> {
  makeGatewaySecrets();
  if (!hasGateways()) return startOnFreePorts();
  const ports = readGatewayPorts();
  if (runningGateways() !== undefined) return ports;
  for (const port of [ports.smtp, ports.sms]) {
    if (!(await isFree(port))) {
      throw new Error(
        `port ${port} of this quickstart is used by another program; stop that program, or remove ${layout.directory} to start afresh`,
      );
    }
  }
  await startGateways();
  return ports;
}

async function startOnFreePorts(): Promise<GatewayPorts> {
  let from: GatewayPorts = firstPorts;
  for (let attempt = 1; ; attempt += 1) {
    const ports = { smtp: await freePort(from.smtp), sms: await freePort(from.sms) };
    writeFileSync(layout.gateways.ports, JSON.stringify(ports));
    try {
      await startGateways();
      return ports;
    } catch (error) {
      rmSync(layout.gateways.ports);
      if (attempt === portAttempts || !(error instanceof Error && error.message.includes(portsTaken))) throw error;
      process.stdout.write('another program took a port; trying the next ones … ');
      from = { smtp: ports.smtp + 1, sms: ports.sms + 1 };
    }
  }
}

/** Stops the stand-ins if they are running. */
export async function stopGateways(): Promise<void> {
  const pid = runningGateways();
  if (pid === undefined) return;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + 1000 * stopSeconds;
  while (runningGateways() !== undefined) {
    if (Date.now() > deadline) throw new Error(`the gateways (process ${pid}) do not end`);
    await delay(20);
  }
  rmSync(layout.gateways.pid, { force: true });
}

/** Process id of the stand-ins. An id that another process has by now does not count. */
function runningGateways(): number | undefined {
  if (!existsSync(layout.gateways.pid)) return undefined;
  const pid = Number(readFileSync(layout.gateways.pid, 'utf8'));
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(layout.gateways.ports) ? pid : undefined;
  } catch {
    return undefined;
  }
}

async function startGateways(): Promise<void> {
  rmSync(layout.gateways.pid, { force: true });
  const log = openSync(layout.gateways.log, 'a', 0o600);
  const logStart = statSync(layout.gateways.log).size;
  // The argument only identifies this process; nothing reads it.
  const child = spawn(
    process.execPath,
    [...processFlags, join(projectDirectory, 'dist', 'quickstart', 'gateways.js'), layout.gateways.ports],
    {
      cwd: layout.directory,
      env: { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: layout.directory },
      detached: true,
      stdio: ['ignore', log, log],
    },
  );
  closeSync(log);
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  const deadline = Date.now() + 1000 * startSeconds;
  while (runningGateways() !== child.pid) {
    if (ended || Date.now() > deadline) {
      if (!ended) child.kill('SIGKILL');
      throw new Error(`the gateways do not start: ${readFileSync(layout.gateways.log).subarray(logStart).toString('utf8').trim()}`);
    }
    await delay(20);
  }
  child.unref();
}
