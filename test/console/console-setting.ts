import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { QuickstartEnvironment } from '../support/quickstart-environment.ts';

const Sections = z.looseObject({ listeners: z.looseObject({ operations: z.looseObject({}) }) });

/** Sets `listeners.operations.console` of a quickstart that is stopped. */
export function setConsole(environment: QuickstartEnvironment, console: string): void {
  const { configFile } = environment.description();
  const config = Sections.parse(parse(readFileSync(configFile, 'utf8')));
  const { listeners } = config;
  const operations = { ...listeners.operations, console };
  writeFileSync(configFile, stringify({ ...config, listeners: { ...listeners, operations } }));
}
