import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { Config } from '../src/config/config.ts';
import { openApiDocument } from '../src/http/documentation/openapi.ts';
import { operations } from '../src/operations/table.ts';
import { resultCodes } from '../src/result-codes.ts';

/** Writes what the documentation takes from the code; with --check it only says whether that is up to date. */
const generated = { 'result-codes.md': resultCodesPage(), 'configuration.schema.json': configurationSchema(), 'openapi.json': openApi() };
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

function configurationSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(Config, { io: 'input' }), undefined, 2)}\n`;
}

function openApi(): string {
  return `${JSON.stringify(openApiDocument(operations, '/sign'), undefined, 2)}\n`;
}
