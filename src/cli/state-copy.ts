import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { administrationRow } from '../audit/audited-request.ts';
import { loadFoundations, loadStateConfig, type Config } from '../config/config.ts';
import type { StateConfig } from '../config/state-config.ts';
import { copyState, type CopiedTables } from '../state/copy/copy-state.ts';
import { CopyRefused } from '../state/copy/copy-target.ts';
import { StoreNotOpened } from '../state/store-unavailable.ts';
import { nameOf } from '../state/threaded-store.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { commandLog } from './ca/command-log.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import type { Outcome } from './outcome.ts';
import { showProgress } from './progress.ts';
import { checkCurrent, checkStopped } from './stopped-service.ts';
import { fields, table } from './table.ts';

export const StateCopyOptions = z.object({ to: z.string().min(1) });

/** `state copy`: copies the state store of the stopped service to an empty one. */
export async function stateCopy(configPath: string, { to: path }: z.output<typeof StateCopyOptions>): Promise<Outcome> {
  const foundations = loadFoundations(configPath);
  const { state: from } = foundations;
  const to = loadStateConfig(path, foundations);
  if (nameOf(from) === nameOf(to)) throw new CommandError(exitCodes.usage, `${path} names the state store that is in use: ${nameOf(from)}`);
  await checkStopped(configPath, 'what it changes meanwhile would be missing in the copy');
  if (from.kind === 'sqlite' && !existsSync(from.path)) throw new CommandError(exitCodes.refused, `there is no state store ${from.path}`);
  await checkCurrent(from, foundations.audit);
  const tables = await copied(from, to, foundations.audit);
  const rows = rowsOf(tables);
  return {
    json: { from: nameOf(from), to: nameOf(to), rows, tables },
    text: `State store copied.\n${fields([
      ['from', nameOf(from)],
      ['to', nameOf(to)],
      ['rows', `${rows}, compared in the target`],
    ])}\n${table(
      ['TABLE', 'ROWS', 'DIGEST'],
      Object.entries(tables)
        .filter(([, summary]) => summary.rows > 0)
        .map(([name, summary]) => [name, String(summary.rows), summary.digest.slice(0, 16)]),
    )}`,
    notes: [`the service still uses ${nameOf(from)}: put the section state of ${path} into ${configPath}, then start it`],
  };
}

async function copied(from: StateConfig, to: StateConfig, audit: Config['audit']): Promise<CopiedTables> {
  const progress = showProgress({ work: 'state copy', unit: 'rows' });
  const entry = { kind: 'administration' as const, request: randomUUID(), uid: process.getuid?.(), command: 'state copy' };
  try {
    return await copyState({
      ...{ from, to, log: commandLog },
      record: (tables) => {
        if (!audit.enabled) return undefined;
        const about = { from: nameOf(from), to: nameOf(to), rows: rowsOf(tables) };
        return administrationRow(audit.name, { ...entry, copied: about });
      },
      progress: (rows) => {
        progress.at(rows);
      },
    });
  } catch (error) {
    if (error instanceof CopyRefused || error instanceof StoreNotOpened) throw new CommandError(exitCodes.refused, error.message);
    throw new CommandError(exitCodes.refused, `nothing was copied: ${reasonOf(error)}`);
  } finally {
    progress.end();
  }
}

function rowsOf(tables: CopiedTables): number {
  return Object.values(tables).reduce((sum, { rows }) => sum + rows, 0);
}
