import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { operations } from '../../src/operations/table.ts';
import { syslogMetrics } from '../../src/telemetry/storage-metrics.ts';
import { callAllOperations } from '../support/all-operations.ts';
import { call, description } from '../support/api.ts';
import { noPromtool } from '../support/prometheus.ts';
import { skipNote } from '../support/skip-note.ts';

const metrics = async (): Promise<string> => (await fetch(`${description.opsUrl}/metrics`)).text();

it('/metrics counts requests by operation and outcome, and has figures of process, audit log and authorities', async () => {
  const ask = async (): Promise<unknown> => call('other', 'pki/checkKey', { keyReference: { reference: '0'.repeat(40) } });
  const counted = (text: string): number =>
    Number(/^signetd_requests_total\{operation="pki\/checkKey",outcome="2\/201"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  await ask();
  const before = counted(await metrics());
  await ask();
  const text = await metrics();
  expect(counted(text)).toBeGreaterThan(before);
  for (const line of [
    /^signetd_request_duration_seconds_bucket\{le="0.0001",operation="pki\/checkKey"\} \d+$/m,
    /^signetd_build_info\{version="\d+\.\d+\.\d+",node="24\.\d+\.\d+"\} 1$/m,
    /^signetd_event_loop_delay_seconds_bucket\{le="\+Inf"\} [1-9]\d*$/m,
    /^signetd_ready 1$/m,
    /^signetd_audit_writable 1$/m,
    /^signetd_audit_lag_seconds [\d.e-]+$/m,
    /^signetd_audit_checkpoint_age_seconds [\d.e-]+$/m,
    /^signetd_authority_certificate_expiry_seconds\{authority="issuing"\} [1-9]\d+$/m,
    /^process_resident_memory_bytes [1-9]\d+$/m,
  ]) {
    expect(text).toMatch(line);
  }
});

it('/metrics names no part that is not ready while the service is', async () => {
  expect(await metrics()).not.toMatch(/^signetd_not_ready\{/m);
});

it('/metrics separates the time that requests waited for the token from the time that it worked', async () => {
  const reading = async (): Promise<string> => (await fetch(`${description.opsUrl}/metrics`)).text();
  const count = (text: string, name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  const name = 'signetd_token_call_seconds_count\\{operation="makeMac"\\}';
  const before = count(await reading(), name);
  await call('other', 'pki/createCertificate', {
    certificationRequestInfo: {
      signatureActivationProtocol: 'PASSWORD',
      PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Metrics' } },
    },
    certificateFormat: 'CERTIFICATE',
  });
  const text = await reading();
  // Of the password and of the record's seal; keys that are made ahead have seals too.
  expect(count(text, name)).toBeGreaterThanOrEqual(before + 2);
  expect(count(text, 'signetd_token_queue_seconds_count\\{operation="makeMac"\\}')).toBe(count(text, name));
  expect(count(text, 'signetd_token_requests_total\\{operation="makeMac",outcome="ok"\\}')).toBe(count(text, name));
  expect(count(text, 'signetd_token_ready')).toBe(1);
  // 16 buckets and the one without end.
  expect(text.match(/^signetd_token_call_seconds_bucket\{.*operation="makeMac".*\}/gm)?.length).toBe(17);
});

it('/metrics has exactly the metrics that docs/health.md describes', async () => {
  // The service of this test has no syslog server.
  const ofSyslog = new Registry();
  syslogMetrics(ofSyslog, () => undefined);
  const text = `${await metrics()}\n${await ofSyslog.metrics()}`;
  const exposed = Array.from(text.matchAll(/^# TYPE (\S+) /gm), ([, name]) => name);
  const [, section = ''] = readFileSync('docs/health.md', 'utf8').split(/^## Metrics$/m);
  const [table = ''] = section.split(/^## /m);
  const described = Array.from(table.matchAll(/^\|([^|]+)\|/gm), ([, names = '']) => names.matchAll(/`([a-z_]+)`/g)).flatMap((names) =>
    Array.from(names, ([, name]) => name),
  );
  expect(new Set(described)).toEqual(new Set(exposed));
  expect(described).toHaveLength(exposed.length);
});

it.skipIf(noPromtool !== undefined)(
  `promtool has nothing to say against /metrics after all operations${skipNote(noPromtool)}`,
  async () => {
    await callAllOperations();
    const text = await metrics();
    // Those of the CSC API have tests of their own, which may not have run yet.
    const called = operations.map((operation) => operation.path).filter((path) => !path.startsWith('csc/'));
    for (const path of [...called, 'files/upload', 'files/download', 'files/delete'])
      expect(text).toMatch(new RegExp(`^signetd_requests_total\\{operation="${path}",outcome="(?:0/0)"\\} [1-9]`, 'm'));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect(`${stdout}${stderr}`).toBe('');
    expect(status).toBe(0);
  },
);
