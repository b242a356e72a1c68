import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { Config } from '../src/config/config.ts';
import { LimitsConfig } from '../src/config/limits-config.ts';
import { describeInterface } from '../src/http/documentation/openapi.ts';
import { operations } from '../src/operations/table.ts';
import { keyStates, stateTexts, transitions, uses } from '../src/keys/states.ts';
import { resultCodes } from '../src/result-codes.ts';
import { configurationReference } from './configuration-reference.ts';
import { wrapped } from './wrapped.ts';

/** Writes the generated documentation; with --check it only reports files that are out of date. */
const generated = {
  'key-states.md': keyStatesPage(),
  'result-codes.md': resultCodesPage(),
  'configuration.md': configurationReference(configurationSchema()),
  'configuration.schema.json': `${JSON.stringify(configurationSchema(), undefined, 2)}\n`,
  'openapi.json': openApi(),
  '../clients/typescript/src/result-names.ts': resultNamesInTypeScript(),
  '../clients/python/src/signetd_client/result_names.py': resultNamesInPython(),
};
const check = process.argv.includes('--check');
for (const [name, content] of Object.entries(generated)) {
  const file = new URL(name, import.meta.url);
  if (!check) writeFileSync(file, content);
  else if (readFileSync(file, 'utf8') !== content) {
    process.stderr.write(`${fileURLToPath(file)} is out of date; run: npm run docs\n`);
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
    wrapped(
      'Major 0: success. Major 1: the request itself is wrong, and repeating it is of no use. Major 2: the request is valid, but could not be carried out. A message about a field starts with its JSON Pointer (RFC 6901).',
    ),
    '',
    '| major | minor | name | meaning |',
    '|---|---|---|---|',
    '| 0 | 0 | SUCCESS | success |',
    ...rows,
    '',
  ].join('\n');
}

/** Names of the result codes, by `major/minor`. */
function namesByCode(): [string, string][] {
  return [
    ['0/0', 'SUCCESS'],
    ...Object.entries(resultCodes).map(([name, { major, minor }]): [string, string] => [`${major}/${minor}`, name]),
  ];
}

function resultNamesInTypeScript(): string {
  const rows = namesByCode().map(([code, name]) => `  '${code}': '${name}',`);
  return [
    '/** Names of the result codes, by `major/minor`. Written by `npm run docs`. */',
    'export const resultNames = {',
    ...rows,
    '} as const;',
    '',
    'export type ResultName = (typeof resultNames)[keyof typeof resultNames];',
    '',
  ].join('\n');
}

function resultNamesInPython(): string {
  const rows = namesByCode().map(([code, name]) => `    "${code}": "${name}",`);
  return [
    '"""Names of the result codes, by major/minor. Written by `npm run docs`."""',
    '',
    'RESULT_NAMES: dict[str, str] = {',
    ...rows,
    '}',
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
    wrapped(
      'A key is `ACTIVE` when createCertificate answers. The diagram shows every transition that the state store allows; each is one commit.',
    ),
    '',
    '```mermaid',
    'stateDiagram-v2',
    '    [*] --> ACTIVE: createCertificate',
    ...sample,
    '```',
    '',
    '| state | meaning | private key |',
    '|---|---|---|',
    ...keyStates.map((state) => `| \`${state}\` | ${stateTexts[state]} | ${whereIs(state)} |`),
    '',
    wrapped(
      '`LOCKED` and `EXPIRED` are not stored: they follow from the failed attempts and from the end of the certificate. `EXPIRED` is reported instead of `ACTIVE`, `LOCKED` and `ON_HOLD`; `LOCKED` only instead of `ACTIVE`, although failures lock a key in every state. `checkKey` also reports `LOCKED` while the token host refuses the key, as far as the instance knows.',
    ),
    '',
    '| from | to | by |',
    '|---|---|---|',
    ...Object.values(transitions).map(({ from, to, by }) => `| ${from.map((state) => `\`${state}\``).join(', ')} | \`${to}\` | ${by} |`),
    '',
    '| operation | allowed in these states; in others it is 2/204 |',
    '|---|---|',
    ...Object.values(uses).map(({ names, states }) => `| ${names} | ${states.map((state) => `\`${state}\``).join(', ')} |`),
    '',
    wrapped(
      '[The CSC API](csc.md) authorises and signs in the states in which `sign` does. With a locked key all of these are 2/203, except `checkKey`. `sendOTP` for `SIGN` and `CHANGE_PASSWORD` is allowed in the states in which `sign` and `changePassword` are. If the key is locked or in another state, `checkKey` does not evaluate the secret, and `secretVerified` is absent.',
    ),
    '',
  ].join('\n');
}

function whereIs(state: string): string {
  if (state === 'LEFT_BEHIND') return 'on a former token';
  return Object.values(transitions).some(({ to, destroys }) => to === state && destroys) ? 'destroyed' : 'on the token';
}

function plain(text: string): string {
  return text.replaceAll('`', '');
}

function configurationSchema(): unknown {
  return z.toJSONSchema(Config, { io: 'input' });
}

function openApi(): string {
  const paths = { operations, signRoot: '/sign', doc2dRoot: '/doc2d', cscRoot: '/csc', ftmRoot: '/ftm' };
  return `${JSON.stringify(describeInterface(paths, LimitsConfig.parse({})).document, undefined, 2)}\n`;
}
