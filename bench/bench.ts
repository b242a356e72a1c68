/**
 * Compares signetd with its limits: the token driven by C only, and a bare HTTPS server. The path of
 * a signature and the cost of the audit log are measured on services of their own, everything else
 * on the running quickstart.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditCostLines } from './audit-cost.ts';
import { reportCades } from './cades-file.ts';
import { compiled } from './compile.ts';
import { measureCrl } from './crl.ts';
import { cscLines } from './csc.ts';
import { jsonCostLines } from './json-cost.ts';
import { hotPathLines } from './hot-path.ts';
import { levelLines } from './levels.ts';
import { reportKeys } from './key-figures.ts';
import { padesLines } from './pades.ts';
import { readQuickstart, type Quickstart } from './quickstart-description.ts';
import { createScratchToken } from './scratch-token.ts';
import { reportTokenLayer } from './token-layer-report.ts';
import { stateCommitLines } from './state-commits.ts';
import { transferLines } from './transfer.ts';
import { twoDDocLines } from './two-d-doc.ts';
import { twoStepLines } from './two-steps.ts';
import { xadesLines } from './xades.ts';

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

async function bench(quickstart: Quickstart, directory: string): Promise<void> {
  compiled('ceiling');
  compiled('load');
  const token = createScratchToken(directory);
  if (token === undefined) say('SoftHSM (package softhsm2) is not installed: no comparison with C');
  if (token !== undefined) print(await reportTokenLayer(token, directory, say));
  print(await hotPathLines(directory, say));
  print(await twoStepLines(quickstart, directory, say));
  say('with and without the audit log, in turns');
  print(await auditCostLines());
  say('the state store on both databases');
  print(await stateCommitLines());
  print(jsonCostLines());
  print(await reportKeys(quickstart, say));
  print(await cscLines(quickstart, say));
  print(await reportCades(quickstart, say));
  say('the transfer store');
  print(await transferLines(quickstart, directory));
  print(await levelLines(quickstart, directory, say));
  print(await xadesLines(quickstart, directory, say));
  print(await padesLines(quickstart, directory, say));
  print(await twoDDocLines(quickstart, directory, say));
  say('a long CRL');
  print([measureCrl()]);
}

/** Prints a part as soon as it is measured, so that a later failure does not lose it. */
function print(part: readonly string[]): void {
  for (const line of [...part, '']) console.log(line);
}

const quickstart = readQuickstart();
if (quickstart === undefined) {
  console.error('No quickstart to measure: run `npm run quickstart` first.');
  process.exit(1);
}
// An interrupt ends the program that is running at that moment; its failure then leads to the
// removal of keys and files.
process.on('SIGINT', () => undefined);
const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-'));
try {
  await bench(quickstart, directory);
} catch (error) {
  const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
  say(refused ? `no process listens on ${quickstart.baseUrl}: run \`npm run quickstart\` first` : String(error));
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
