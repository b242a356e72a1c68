import { existsSync } from 'node:fs';
import { z } from 'zod';
import { whatToDo } from '../../admin/stand-by-commands.ts';
import { ClientView, StatusView } from '../../admin/views.ts';
import { ageInWords, compareState } from '../../audit/compare-state.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import { readStateStore } from '../../state/threaded-store.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { configCheck } from '../config/check.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { table } from '../table.ts';
import { tokenProbe } from '../token/probe.ts';
import { certificateEnds } from './certificate-ends.ts';
import { clock } from './clock.ts';
import { fault, good, warning, type Diagnosis } from './diagnosis.ts';
import { runningService } from './running-service.ts';

/** `doctor`: checks every part and says how to fix problems. It continues after a fault. */
export async function doctor(configPath: string): Promise<Outcome> {
  const { faults = [], notes = [] } = await configCheck(configPath);
  const lines: Diagnosis[] = [
    ...faults.map((text) => fault('configuration', text)),
    // The expiry of certificates is reported separately.
    ...notes.filter((text) => !text.includes('the certificate expires on')).map((text) => warning('configuration', text)),
  ];
  if (lines.length === 0) lines.push(good('configuration', configPath));
  const config = usable(configPath);
  if (config !== undefined) {
    lines.push(...(await serviceOrStore(configPath, config)), await token(configPath), ...certificateEnds(config), await clock(config));
  }
  const faulty = lines.filter(({ state }) => state === 'fault');
  return {
    json: lines,
    text: table(
      ['', 'PART', 'FOUND'],
      lines.map(({ part, state, text }) => [state, part, text]),
    ),
    faults: faulty.map(({ part, text }) => `${part}: ${text}`),
  };
}

function usable(configPath: string): Config | undefined {
  try {
    return loadConfig(configPath);
  } catch {
    return undefined;
  }
}

async function serviceOrStore(configPath: string, config: Config): Promise<Diagnosis[]> {
  try {
    const { result } = await ask(configPath, { command: 'status' }, StatusView);
    const clients = await ask(configPath, { command: 'client list' }, z.array(ClientView)).catch(() => undefined);
    return runningService(result, clients?.result ?? []);
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== exitCodes.serviceUnreachable) throw error;
    return [
      fault('service', `${error.message} (run systemctl start signetd; if it does not start, its log says why)`),
      await store(config),
      auditDirectory(config),
    ];
  }
}

async function store({ state, audit }: Config): Promise<Diagnosis> {
  try {
    const opened = await readStateStore(state);
    try {
      const { length } = await opened.run('listClients');
      const comparison = audit.enabled ? await compareState(opened, audit) : undefined;
      if (comparison?.isOlder === true) return fault('state store', `${ageInWords(comparison)}; ${whatToDo}`);
      return good('state store', `readable; ${length} clients registered`);
    } finally {
      await opened.close();
    }
  } catch (error) {
    return fault('state store', `it cannot be read: ${reasonOf(error)}; the first start of signetd creates a new one`);
  }
}

function auditDirectory({ audit }: Config): Diagnosis {
  if (!audit.enabled) return warning('audit log', 'disabled: set audit.enabled to true');
  if (existsSync(audit.directory)) return good('audit log', `in ${audit.directory}; signetctl audit verify checks it completely`);
  return warning('audit log', `${audit.directory} does not exist yet: the first start of signetd creates it`);
}

async function token(configPath: string): Promise<Diagnosis> {
  try {
    const { faults = [] } = await tokenProbe(configPath, { full: false });
    return faults.length === 0 ? good('token', 'module and token support what signetd needs') : fault('token', faults.join('; '));
  } catch (error) {
    return fault('token', `${reasonOf(error)}; see signetctl token slots`);
  }
}
