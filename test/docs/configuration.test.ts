import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Config } from '../../src/config/config.ts';

/** The names of all members in a JSON Schema, at any depth. */
function namesIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]: [string, unknown]) => [
    ...(keyword === 'properties' && typeof value === 'object' && value !== null ? Object.keys(value) : []),
    ...namesIn(value),
  ]);
}

const schema = z.toJSONSchema(Config, { io: 'input' });

it('docs/configuration.md names every member of the configuration', () => {
  const page = readFileSync('docs/configuration.md', 'utf8');
  const listed = new Set(Array.from(page.matchAll(/^(?:\| `[^`]*?|## )(\w+)`?(?: \||$)/gm), ([, name]) => name));
  expect(namesIn(schema).filter((name) => !listed.has(name))).toEqual([]);
});

it('docs/configuring.md says what each section is for', () => {
  const [, table = ''] = /^## Configuration$(.*?)^## /ms.exec(readFileSync('docs/configuring.md', 'utf8')) ?? [];
  const sections = new Set(Array.from(table.matchAll(/^\| \[`(\w+)/gm), ([, name]) => name));
  expect(Object.keys(Config.shape).filter((name) => !sections.has(name))).toEqual([]);
});
