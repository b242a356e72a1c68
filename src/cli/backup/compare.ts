import { join } from 'node:path';
import { compareWithToken, type Difference, type TokenComparison } from '../../backup/token-comparison.ts';
import { loadConfig } from '../../config/config.ts';
import type { StateConfig } from '../../config/state-config.ts';
import type { Outcome } from '../outcome.ts';
import { table } from '../table.ts';
import { askToken, usedDirectly } from '../token/token-access.ts';

export interface Compared {
  readonly comparison: TokenComparison;
  readonly text: string;
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

/** `backup compare`: keys that only the state store or only the token has. */
export async function backupCompare(configPath: string): Promise<Outcome> {
  const { comparison, text, faults, notes } = await comparedWithToken(configPath);
  return { json: comparison, text, faults, notes };
}

/**
 * Compares the state store with the token.
 * @param root directory in front of the configuration's absolute paths, after a restore below it
 * @throws {TokenFailure} if the token cannot be asked
 * @throws {ConfigError}
 */
export async function comparedWithToken(configPath: string, root = '/'): Promise<Compared> {
  const loaded = loadConfig(configPath);
  const config = { ...loaded, state: below(root, loaded.state) };
  const { value, direct } = await askToken(configPath, async (reports) => (await reports.inventory()).objects);
  const comparison = await compareWithToken(config, value);
  const { orphans, gaps, matching } = comparison;
  const needed = gaps.filter(({ isNeeded }) => isNeeded).length;
  const rows = (kind: string, differences: readonly Difference[]): string[][] =>
    differences.map(({ id, what, advice }) => [kind, id, what, advice]);
  const all = [...rows('gap', gaps), ...rows('orphan', orphans)];
  const listed = all.length === 0 ? '' : table(['', 'CKA_ID', 'KEY', 'WHAT TO DO'], all);
  return {
    comparison,
    text: `${listed}keys: ${matching} in the state and on the token, ${gaps.length} missing on the token (gaps), ${orphans.length} only on the token (orphans)\n`,
    faults: needed === 0 ? [] : [`keys that signetd needs are not on the token: ${needed}`],
    notes: [
      ...(direct ? [usedDirectly] : []),
      ...(orphans.length === 0 ? [] : [`keys on the token that are unknown to the state: ${orphans.length}`]),
    ],
  };
}

/** Relative paths of the configuration are already below the root. */
function below(root: string, state: StateConfig): StateConfig {
  if (state.kind !== 'sqlite' || root === '/' || state.path.startsWith(`${root}/`)) return state;
  return { ...state, path: join(root, state.path) };
}
