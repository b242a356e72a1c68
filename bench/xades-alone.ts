/** Only the part of the bench on XAdES. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { xadesLines } from './xades.ts';
import { readQuickstart } from './quickstart-description.ts';

const quickstart = readQuickstart();
if (quickstart === undefined) {
  console.error('No quickstart to measure: run `npm run quickstart` first.');
  process.exit(1);
}
const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-'));
try {
  const lines = await xadesLines(quickstart, directory, (line) => process.stderr.write(`bench: ${line}\n`));
  for (const line of lines) console.log(line);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
