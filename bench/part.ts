/** One part of the bench: `part.ts 2d-doc|levels|pades|transfer|xades`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { levelLines } from './levels.ts';
import { padesLines } from './pades.ts';
import { readQuickstart } from './quickstart-description.ts';
import { transferLines } from './transfer.ts';
import { twoDDocLines } from './two-d-doc.ts';
import { xadesLines } from './xades.ts';

const parts = { '2d-doc': twoDDocLines, levels: levelLines, pades: padesLines, transfer: transferLines, xades: xadesLines };

const [name = ''] = process.argv.slice(2);
const linesOf = Object.entries(parts).find(([part]) => part === name)?.[1];
if (linesOf === undefined) {
  console.error(`Which part? One of: ${Object.keys(parts).join(', ')}.`);
  process.exit(2);
}
const quickstart = readQuickstart();
if (quickstart === undefined) {
  console.error('No quickstart to measure: run `npm run quickstart` first.');
  process.exit(1);
}
const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-'));
try {
  for (const line of await linesOf(quickstart, directory, (text) => process.stderr.write(`bench: ${text}\n`))) console.log(line);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
