import { it } from 'vitest';
import { repetitions } from '../support/repetitions.ts';
import { killUnderLoad } from './kills-under-load.ts';

const kills = repetitions(6);

it.each(['SQLite', 'PostgreSQL'] as const)(
  `%s: ${kills} × kill -9 under writing load: nothing acknowledged is lost, and the audit log tells the same`,
  async (name) => {
    await killUnderLoad(name, kills);
  },
  Math.max(240_000, kills * 10_000),
);
