import { it } from 'vitest';
import { killUnderLoad } from './kills-under-load.ts';

const kills = 1;

it(`SQLite: ${kills} × kill -9 under writing load: nothing acknowledged is lost, and the audit log tells the same`, async () => {
  await killUnderLoad('SQLite', kills);
}, 240_000);
