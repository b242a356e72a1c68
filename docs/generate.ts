import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { Config } from '../src/config/config.ts';
import { filePaths } from '../src/http/documentation/file-paths.ts';
import { openApiDocument, operationPaths } from '../src/http/documentation/openapi.ts';
import { operations } from '../src/operations/table.ts';
import { keyStates, stateTexts, transitions, uses } from '../src/keys/states.ts';
import { resultCodes } from '../src/result-codes.ts';

/** Writes what the documentation takes from the code; with --check it only says whether that is up to date. */
const generated = {
  'key-states.md': keyStatesPage(),
  'result-codes.md': resultCodesPage(),
  'configuration.schema.json': configurationSchema(),
  'openapi.json': openApi(),
};
const check = process.argv.includes('--check');
for (const [name, content] of Object.entries(generated)) {
  const file = new URL(name, import.meta.url);
  if (!check) writeFileSync(file, content);
  else if (readFileSync(file, 'utf8') !== content) {
    process.stderr.write(`docs/${name} is not what the code says; run: npm run docs\n`);
    process.exitCode = 1;
  }
}

function resultCodesPage(): string {
  const rows = Object.entries(resultCodes).map(([name, { major, minor, text }]) => `| ${major} | ${minor} | ${name} | ${text} |`);
  return [
    '# Result codes',
    '',
    '<!-- Written by `npm run docs` from src/result-codes.ts. -->',
    '',
    'Major 0 is success. Major 1: the request itself is wrong and will be wrong again. Major 2: it was well formed and could not be carried out.',
    'A message about a field starts with its JSON Pointer (RFC 6901).',
    '',
    '| major | minor | name | meaning |',
    '|---|---|---|---|',
    '| 0 | 0 | SUCCESS | success |',
    ...rows,
    '',
  ].join('\n');
}

function keyStatesPage(): string {
  const sample = Object.entries(transitions).flatMap(([, { from, to, by }]) => from.map((state) => `    ${state} --> ${to}: ${plain(by)}`));
  return [
    '# States of a key',
    '',
    '<!-- Written by `npm run docs` from src/keys/states.ts. -->',
    '',
    'A key is `ACTIVE` when createCertificate answers. These are all the ways from one state to another that the store lets through; each is one commit.',
    '',
    '```mermaid',
    'stateDiagram-v2',
    '    [*] --> ACTIVE: createCertificate',
    ...sample,
    '```',
    '',
    '| state | means | the private key |',
    '|---|---|---|',
    ...keyStates.map((state) => `| \`${state}\` | ${stateTexts[state]} | ${hasEnded(state) ? 'is destroyed' : 'is on the token'} |`),
    '',
    '`LOCKED` and `EXPIRED` are not stored: they follow from the failed attempts and from the end of the certificate. `EXPIRED` is told instead of `ACTIVE`, `LOCKED` and',
    '`ON_HOLD`; `LOCKED` instead of `ACTIVE` alone, though failures lock a key in every state. `checkKey` also reports `LOCKED` while the token host refuses the key, as far as the instance knows.',
    '',
    '| from | to | by |',
    '|---|---|---|',
    ...Object.values(transitions).map(({ from, to, by }) => `| ${from.map((state) => `\`${state}\``).join(', ')} | \`${to}\` | ${by} |`),
    '',
    '| asked for | in these states; in others it is 2/204 |',
    '|---|---|',
    ...Object.values(uses).map(({ names, states }) => `| ${names} | ${states.map((state) => `\`${state}\``).join(', ')} |`),
    '',
    'On a locked key all of it is 2/203. `sendOTP` for `SIGN` and `CHANGE_PASSWORD` is possible where `sign` and `changePassword` are. The secret of `checkKey` is not evaluated',
    'elsewhere, and `secretVerified` is absent.',
    '',
  ].join('\n');
}

function hasEnded(state: string): boolean {
  return Object.values(transitions).some(({ to, destroys }) => to === state && destroys);
}

function plain(text: string): string {
  return text.replaceAll('`', '');
}

function configurationSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(Config, { io: 'input' }), undefined, 2)}\n`;
}

function openApi(): string {
  return `${JSON.stringify(openApiDocument(operationPaths(operations, '/sign'), filePaths('/ftm')), undefined, 2)}\n`;
}
