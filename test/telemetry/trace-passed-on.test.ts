import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { asRequest } from '../../src/telemetry/current-request.ts';
import { AnsweringServer } from '../support/answering-server.ts';
import { call, contentDocument, description, newKey, secretOf } from '../support/api.ts';
import { succeeds } from '../support/succeeds.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';
const tracestate = 'vendor=opaque,other@system=1';
const { publicUrl = '', timestampUrl = '' } = description;

const servers: AnsweringServer[] = [];
afterAll(() => {
  for (const server of servers) server.stop();
});

/** A server in front of one of the service's own public addresses, which keeps the headers that it gets. */
async function inFrontOf(url: string, contentType?: string): Promise<AnsweringServer> {
  const server = await AnsweringServer.start(async (body) => {
    const asked = contentType === undefined ? {} : { method: 'POST', headers: { 'Content-Type': contentType }, body: new Uint8Array(body) };
    const { body: answer } = await fetch(url, asked);
    return answer === null ? Buffer.alloc(0) : buffer(answer);
  });
  servers.push(server);
  return server;
}

it('requests for time-stamps, OCSP and CRLs carry on the trace of the signature, with a span of the service', async () => {
  const ocsp = await inFrontOf(`${publicUrl}/ocsp/issuing`, 'application/ocsp-request');
  const crl = await inFrontOf(`${publicUrl}/pki/issuing.crl`);
  const stamps = await inFrontOf(timestampUrl, 'application/timestamp-query');
  const key = await newKey('other');
  const from = ({ url }: AnsweringServer): object => ({ URLSource: 'CLIENT', clientURL: [url] });
  const spans: string[] = [];
  for (const [choice, server] of [
    ['OCSP', ocsp],
    ['CRL', crl],
  ] as const) {
    const answer = await call(
      'other',
      'signature/sign',
      {
        keyReference: secretOf(key),
        inputDocuments: [contentDocument('traced')],
        parameters: {
          XP7Signature: {
            XP7Format: 'CXP_7',
            XP7Providers: { CXP7Parameters: { detached: true } },
            timeStamp: from(stamps),
            longTermValidation: { signerRevocationValueChoice: choice, signerRevocationDataSource: { [choice]: from(server) } },
          },
        },
      },
      { traceparent: `00-${trace}-${parent}-01`, tracestate },
    );
    succeeds(answer);
    const all: IncomingHttpHeaders[] = [...server.headers.splice(0), ...stamps.headers.splice(0)];
    expect(all.length).toBeGreaterThanOrEqual(2);
    for (const headers of all) {
      expect(headers['tracestate']).toBe(tracestate);
      const [, span = ''] = new RegExp(`^00-${trace}-([0-9a-f]{16})-01$`).exec(String(headers['traceparent'])) ?? [];
      spans.push(span);
    }
  }
  // One for each of the two requests, and not that of the caller.
  expect(new Set(spans).size).toBe(2);
  expect(spans).not.toContain(parent);
  expect(spans).not.toContain('');
});

it('other servers do not receive the trace where the configuration says so', async () => {
  const server = await AnsweringServer.start(() => Buffer.from('an answer'));
  servers.push(server);
  const settings = { clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 5, connectionsMax: 8 };
  for (const traceContext of [true, false]) {
    const http = new OutgoingHttp({ ...settings, traceContext });
    await asRequest({ traceparent: `00-${trace}-${parent}-01` }, async () =>
      http.fetch({ url: new URL(server.url), method: 'GET', answerMaxBytes: 100 }),
    );
  }
  const [passedOn, kept] = server.headers;
  expect(passedOn?.['traceparent']).toContain(trace);
  expect(kept).not.toHaveProperty('traceparent');
});
