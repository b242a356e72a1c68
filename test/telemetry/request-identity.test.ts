import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { call, directory, send } from '../support/api.ts';

interface Line {
  readonly message: string;
  readonly request?: string;
  readonly trace?: string;
  readonly span?: string;
  readonly parentSpan?: string;
}

const linesOf = (request: string): Line[] =>
  readFileSync(join(directory, 'daemon.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes(request))
    .map((line) => JSON.parse(line) as Line);

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

it('one identifier of a request is in its answer, in every line of the log and in the audit log, beside the trace of the caller', async () => {
  const parentSpan = '00f067aa0ba902b7';
  const traceparent = `00-${trace}-${parentSpan}-01`;
  const { headers } = await call('other', 'pki/checkKey', { keyReference: { reference: '0'.repeat(40) } }, { traceparent });
  const request = String(headers['x-request-id']);
  expect(request).toMatch(/^[0-9a-f-]{36}$/);
  await expect.poll(() => linesOf(request)).toEqual([expect.objectContaining({ message: 'request', request, trace, parentSpan })]);
  expect(readFileSync(join(directory, 'audit', 'audit-00000001.jsonl'), 'utf8')).toContain(`"request":"${request}"`);
});

it('a request without a trace begins one', async () => {
  const requests: string[] = [];
  for (const traceparent of ['', 'none']) {
    const { headers } = await call('other', 'pki/checkKey', { keyReference: { reference: '0'.repeat(40) } }, { traceparent });
    requests.push(String(headers['x-request-id']));
  }
  const traces = new Set<string | undefined>();
  for (const request of requests) {
    await expect.poll(() => linesOf(request)).toHaveLength(1);
    const [line] = linesOf(request);
    expect(line?.trace).toMatch(/^[0-9a-f]{32}$/);
    expect(line?.span).toMatch(/^[0-9a-f]{16}$/);
    expect(line).not.toHaveProperty('parentSpan');
    traces.add(line?.trace);
  }
  expect(traces.size).toBe(2);
});

it('problem answers have one, too', async () => {
  const { status, headers } = await send('app', { path: '/nothing' }, '{}');
  expect(status).toBe(404);
  expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
});
