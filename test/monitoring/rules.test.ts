import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { noPromtool } from '../support/prometheus.ts';
import { skipNote } from '../support/skip-note.ts';
import { annotationQueries, emptyPanels, panelQueries } from './dashboard.ts';

const rulesFile = 'packaging/monitoring/signetd-rules.yml';
const Alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['warning', 'critical']) }),
  annotations: z.strictObject({ summary: z.string().min(1), description: z.string().min(1), runbook_url: z.string() }),
});
const Recording = z.strictObject({ record: z.string(), expr: z.string() });
const Rules = z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(z.union([Alert, Recording])) })) });
const rules = Rules.parse(parse(readFileSync(rulesFile, 'utf8'))).groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule) => 'alert' in rule);
const page = readFileSync('docs/monitoring.md', 'utf8');

const promtool = (...args: string[]): { status: number | null; output: string } => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  return { status, output: stdout + stderr };
};

it.skipIf(noPromtool !== undefined)(
  `promtool accepts the rules, and each alert fires when it should and only then${skipNote(noPromtool)}`,
  () => {
    for (const [command, file] of [
      ['check', rulesFile],
      ['test', rulesFile.replace('.yml', '.test.yml')],
    ] as const) {
      const { status, output } = promtool(command, 'rules', file);
      expect(output).toContain('SUCCESS');
      expect(status, output).toBe(0);
    }
  },
);

it('every alert has a test of both situations', () => {
  const Tests = z.object({ tests: z.array(z.object({ name: z.string() })) });
  const names = Tests.parse(parse(readFileSync(rulesFile.replace('.yml', '.test.yml'), 'utf8'))).tests.map(({ name }) => name);
  expect(names).toEqual(alerts.flatMap(({ alert }) => [`${alert} fires`, `${alert} does not fire`]));
});

it('every alert has its section in docs/monitoring.md, in the same order', () => {
  expect(alerts.map(({ annotations }) => annotations.runbook_url)).toEqual(
    alerts.map(({ alert }) => `docs/monitoring.md#${alert.toLowerCase()}`),
  );
  const sections = Array.from(page.matchAll(/^### (Signetd\w+)$/gm), ([, name]) => name);
  expect(sections).toEqual(alerts.map(({ alert }) => alert));
});

it('rules and dashboard use only metrics that the service has', () => {
  const described = new Set(
    Array.from(readFileSync('docs/health.md', 'utf8').matchAll(/`((?:signetd|process)_[a-z_]+)`/g), ([, name]) => name),
  );
  const recorded = new Set(rules.flatMap((rule) => ('record' in rule ? [rule.record] : [])));
  const expressions = [...rules.map(({ expr }) => expr), ...panelQueries.map(({ expression }) => expression), ...annotationQueries];
  const names = expressions.flatMap(
    (expression) => expression.match(/\b(?:job_instance\w*:\w+:\w+|(?:signetd|process)_[a-z_]+)\b(?!\.)/g) ?? [],
  );
  expect(names.length).toBeGreaterThan(50);
  const unknown = names.filter(
    (name) => !recorded.has(name) && !described.has(name) && !described.has(name.replace(/_(?:bucket|sum|count)$/, '')),
  );
  expect(unknown).toEqual([]);
});

it('no panel of the dashboard is without a query', () => {
  expect(emptyPanels).toEqual([]);
});
