/** Only the part of the bench on the transfer store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readQuickstart } from './quickstart-description.ts';
import { transferLines } from './transfer.ts';

const quickstart = readQuickstart();
if (quickstart === undefined) {
  console.error('No quickstart to measure: run `npm run quickstart` first.');
  process.exit(1);
}
const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-'));
try {
  for (const line of await transferLines(quickstart, directory)) console.log(line);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
