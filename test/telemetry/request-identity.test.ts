import { assert, constantFrom, property, string } from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { traceOf } from '../../src/telemetry/current-request.ts';
import { call, directory, send } from '../support/api.ts';

interface Line {
  readonly message: string;
  readonly request?: string;
  readonly trace?: string;
}

const linesOf = (request: string): Line[] =>
  readFileSync(join(directory, 'daemon.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes(request))
    .map((line) => JSON.parse(line) as Line);

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

it('one identifier of a request is in its answer, in every line of the log and in the audit log, beside the trace of the caller', async () => {
  const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
  const { headers } = await call('other', 'pki/checkKey', { keyReference: { reference: '0'.repeat(40) } }, { traceparent });
  const request = String(headers['x-request-id']);
  expect(request).toMatch(/^[0-9a-f-]{36}$/);
  await expect.poll(() => linesOf(request)).toEqual([expect.objectContaining({ message: 'request', request, trace })]);
  expect(readFileSync(join(directory, 'audit', 'audit-00000001.jsonl'), 'utf8')).toContain(`"request":"${request}"`);
});

it('problem answers have one, too', async () => {
  const { status, headers } = await send('app', { path: '/nothing' }, '{}');
  expect(status).toBe(404);
  expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
});

describe('traceparent', () => {
  const hexadecimal = (length: number) =>
    string({
      unit: constantFrom('0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'),
      minLength: length,
      maxLength: length,
    });

  it('is taken as W3C Trace Context writes it', () => {
    const notZero = (length: number) => hexadecimal(length).filter((text) => !/^0+$/.test(text));
    assert(property(notZero(32), notZero(16), hexadecimal(2), (id, parent, flags) => traceOf(`00-${id}-${parent}-${flags}`) === id));
    expect(traceOf(`01-${trace}-00f067aa0ba902b7-01-more`)).toBe(trace);
  });

  it('is ignored in every other form', () => {
    for (const text of [
      undefined,
      '',
      `ff-${trace}-00f067aa0ba902b7-01`,
      `00-${trace}-00f067aa0ba902b7-01-more`,
      `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    ]) {
      expect(traceOf(text)).toBeUndefined();
    }
    assert(property(string(), (text) => traceOf(text) === undefined));
  });
});
