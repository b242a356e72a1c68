import { existsSync } from 'node:fs';
import { whatToDo } from '../../admin/stand-by-commands.ts';
import { ageInWords, compareState } from '../../audit/compare-state.ts';
import type { Config } from '../../config/config.ts';
import { readStateStore } from '../../state/threaded-store.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { fault, good, warning, type Diagnosis } from './diagnosis.ts';
import { disks } from './disks.ts';

/** Diagnoses the files of a service that does not run. */
export async function stoppedService(config: Config): Promise<Diagnosis[]> {
  const full = disks(config);
  const isFull = (part: string): boolean => full.some((one) => one.part === part);
  return [...full, ...(isFull('state store') ? [] : [await store(config)]), ...(isFull('audit log') ? [] : [auditDirectory(config)])];
}

async function store({ state, audit }: Config): Promise<Diagnosis> {
  if (state.kind === 'sqlite' && !existsSync(state.path))
    return warning('state store', `${state.path} does not exist yet: the first start of signetd creates it`);
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
    const remedy = state.kind === 'sqlite' ? 'restore it from a backup' : 'check the server and the section state';
    return fault('state store', `it cannot be read (${reasonOf(error)}): ${remedy}`);
  }
}

function auditDirectory({ audit }: Config): Diagnosis {
  if (!audit.enabled) return warning('audit log', 'disabled: set audit.enabled to true');
  if (existsSync(audit.directory)) return good('audit log', `in ${audit.directory}; signetctl audit verify checks it completely`);
  return warning('audit log', `${audit.directory} does not exist yet: the first start of signetd creates it`);
}
