/** Only issuance and activation, on the running quickstart. `bench.ts` includes them. */
import { reportKeys } from './key-figures.ts';
import { readQuickstart } from './quickstart-description.ts';

const quickstart = readQuickstart();
if (quickstart === undefined) {
  console.error('No quickstart to measure: run `npm run quickstart` first.');
  process.exit(1);
}
for (const line of await reportKeys(quickstart, (step) => process.stderr.write(`bench: ${step}\n`))) console.log(line);
