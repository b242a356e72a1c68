/** One part of the bench: `part.ts 2d-doc|audit|csc|hot-path|levels|pades|transfer|xades`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditCostLines } from './audit-cost.ts';
import { cscLines } from './csc.ts';
import { hotPathLines } from './hot-path.ts';
import { levelLines } from './levels.ts';
import { padesLines } from './pades.ts';
import { keyTypes } from './native-tools.ts';
import { readQuickstart, type Quickstart } from './quickstart-description.ts';
import { transferLines } from './transfer.ts';
import { twoDDocLines } from './two-d-doc.ts';
import { xadesLines } from './xades.ts';

type Part = (quickstart: Quickstart, directory: string, say: (line: string) => void, options: readonly string[]) => Promise<string[]>;

const parts: Readonly<Record<string, Part>> = {
  '2d-doc': twoDDocLines,
  audit: async () => auditCostLines(),
  csc: async (quickstart, _directory, say) => cscLines(quickstart, say),
  // Options: types of keys.
  'hot-path': async (_quickstart, directory, say, types) =>
    hotPathLines(
      directory,
      say,
      keyTypes.filter((type) => types.length === 0 || types.includes(type)),
    ),
  levels: levelLines,
  pades: padesLines,
  transfer: transferLines,
  xades: xadesLines,
};

const [name = '', ...options] = process.argv.slice(2);
const linesOf = Object.hasOwn(parts, name) ? parts[name] : undefined;
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
  for (const line of await linesOf(quickstart, directory, (text) => process.stderr.write(`bench: ${text}\n`), options)) console.log(line);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
