import { dirname } from 'node:path';
import { z } from 'zod';
import { NotRunning } from '../../admin/ask.ts';
import { ClientView, StatusView } from '../../admin/views.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import { FailedStarts } from '../../service/failed-starts.ts';
import { unitNames } from '../../config/unit-names.ts';
import { checkConfiguration } from '../config/check.ts';
import { expiresSoon } from '../config/tls-checks.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { answerOf } from '../service.ts';
import { table } from '../table.ts';
import { certificateEnds } from './certificate-ends.ts';
import { clock } from './clock.ts';
import { fault, good, warning, type Diagnosis } from './diagnosis.ts';
import { freeSpace } from './free-space.ts';
import { network } from './network.ts';
import { ports } from './ports.ts';
import { runningService } from './running-service.ts';
import { sockets } from './sockets.ts';
import { stoppedService } from './stopped-service.ts';
import { token } from './token.ts';

/**
 * `doctor`: checks every part and says how to correct each fault, which it reports once. It
 * continues after a fault.
 */
export async function doctor(configPath: string): Promise<Outcome> {
  const { faults, notes } = await checkConfiguration(configPath);
  const configuration = [
    ...faults.map((text) => fault('configuration', text)),
    // Reported with all certificates.
    ...notes.filter((text) => !text.includes(expiresSoon)).map((text) => warning('configuration', text)),
  ];
  const config = usable(configPath);
  const lines = [
    ...(configuration.length === 0 ? [good('configuration', configPath)] : configuration),
    ...(config === undefined ? [] : await parts(configPath, config, faults)),
  ];
  const faulty = lines.filter(({ state }) => state === 'fault');
  return {
    json: lines,
    text: table(
      ['', 'PART', 'FOUND'],
      lines.map(({ part, state, text }) => [state, part, text]),
    ),
    faults: faulty.map(({ part, text }) => `${part}: ${text}`),
    showsFaults: true,
  };
}

function usable(configPath: string): Config | undefined {
  try {
    return loadConfig(configPath);
  } catch {
    return undefined;
  }
}

/** @param known faults of the configuration, which are not reported again */
async function parts(configPath: string, config: Config, known: readonly string[]): Promise<Diagnosis[]> {
  const running = await runningServiceOf(configPath, known.length > 0);
  // A token that cannot be opened because of the configuration is reported there.
  const isTokenConfigured = !known.some((text) => / token\.[A-Za-z]+: /.test(text));
  const others = [
    ...(running.lines ?? [...(await stoppedService(config)), ...(await ports(config))]),
    ...(isTokenConfigured ? await token(configPath, config, running.lines === undefined) : []),
    ...(await network(configPath, config)),
    ...(await sockets(configPath, config)),
    ...(await freeSpace(config, running.lines !== undefined)),
    ...certificateEnds(config),
    await clock(config),
  ];
  if (running.lines !== undefined) return others;
  const reason = `${running.reason}${failedStartWords(config)}`;
  const unit = (unitNames(configPath)?.service ?? 'signetd').replace(/\.service$/, '');
  const isExplained = known.length > 0 || others.some(({ state }) => state === 'fault');
  return [
    isExplained
      ? warning('service', `${reason}: correct the faults, then run systemctl restart ${unit}`)
      : fault('service', `${reason}: run systemctl restart ${unit}; if it does not start, journalctl --unit ${unit} says why`),
    ...others,
  ];
}

/** What the daemon left of its last failed start, while the service manager tries again. */
function failedStartWords({ admin }: Config): string {
  const failed = new FailedStarts(dirname(admin.socketPath)).last;
  if (failed === undefined) return '';
  const times = failed.starts === 1 ? 'once' : `${failed.starts} times`;
  return ` (it failed to start ${times}, the last time at ${failed.at}: ${failed.reason})`;
}

type Running = { readonly lines: readonly Diagnosis[] } | { readonly lines?: undefined; readonly reason: string };

async function runningServiceOf(configPath: string, isFaulty: boolean): Promise<Running> {
  try {
    const { result } = await answerOf(configPath, { command: 'status' }, StatusView);
    const clients = await answerOf(configPath, { command: 'client list' }, z.array(ClientView)).catch(() => undefined);
    return { lines: runningService(result, clients?.result, isFaulty) };
  } catch (error) {
    const isUnreachable = error instanceof CommandError && error.exitCode === exitCodes.serviceUnreachable;
    if (!isUnreachable && !(error instanceof NotRunning)) throw error;
    return { reason: error.message };
  }
}
