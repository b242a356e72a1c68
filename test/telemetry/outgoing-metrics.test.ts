import { Registry } from 'prom-client';
import { afterAll, expect, test } from 'vitest';
import { outgoingEnd, unusableAnswer } from '../../src/daemon/outgoing-client.ts';
import { FetchFailed, OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { outgoingMetrics } from '../../src/telemetry/outgoing-metrics.ts';
import { AnsweringServer } from '../support/answering-server.ts';
import { recordingLog } from '../support/silent-log.ts';

const servers: AnsweringServer[] = [];
afterAll(() => {
  for (const server of servers) server.stop();
});

test('requests to other servers are counted by kind and outcome, and a failing host is logged once a minute, without its query', async () => {
  const [registry, log] = [new Registry(), recordingLog()];
  let nowMs = 0;
  const told = outgoingMetrics(registry, log, () => nowMs);
  const http = new OutgoingHttp({
    ...{ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 5, connectionsMax: 8 },
    ended: (asked, failure) => {
      told(outgoingEnd(asked, failure));
    },
    unusable: (asked, why) => {
      told(unusableAnswer(asked, why));
    },
  }).ofTenant('demo');
  const server = await AnsweringServer.start(() => Buffer.from('an answer'));
  servers.push(server);
  const url = new URL(`${server.url}path?apikey=SECRET`);
  const { host } = url;
  const stamp = { url, method: 'POST', headers: { 'Content-Type': 'application/timestamp-query' }, answerMaxBytes: 100 } as const;
  const ocsp = { url, method: 'POST', headers: { 'Content-Type': 'application/ocsp-request' }, answerMaxBytes: 100 } as const;
  const crl = { url, method: 'GET', answerMaxBytes: 100 } as const;
  for (const one of [stamp, ocsp, crl, crl]) await http.fetch(one);
  expect(log.lines).toEqual([]);

  server.answering = () => 503;
  for (const one of [stamp, ocsp, crl]) await expect(http.fetch(one)).rejects.toThrow(FetchFailed);
  nowMs = 59_999;
  await expect(http.fetch(crl)).rejects.toThrow(FetchFailed);
  const line = (kind: string): string =>
    `a request to another server failed ${JSON.stringify({ kind, host, reason: 'the server answered with status 503' })}`;
  expect(log.lines).toEqual([line('time-stamp')]);
  nowMs = 60_000;
  await expect(http.fetch(crl)).rejects.toThrow(FetchFailed);
  expect(log.lines).toEqual([line('time-stamp'), line('CRL')]);

  // Who asked has left: the host is not to blame.
  nowMs = 120_000;
  await expect(http.fetch({ ...crl, signal: AbortSignal.abort() })).rejects.toThrow(FetchFailed);
  expect(log.lines).toHaveLength(2);

  // An answer that is of no use is counted as answered, and the log names its host too.
  nowMs = 180_000;
  server.answering = () => Buffer.from('nonsense');
  const read = (): never => {
    throw new Error('no list');
  };
  for (let round = 0; round < 2; round += 1) await expect(http.fetchAs(crl, read)).rejects.toThrow('no list');
  const unusable = { kind: 'CRL', host, reason: 'no list' };
  expect(log.lines.slice(2)).toEqual([`the answer of another server is of no use ${JSON.stringify(unusable)}`]);
  const text = await registry.metrics();
  for (const [kind, outcome, count] of [
    ['time-stamp', 'answered', 1],
    ['time-stamp', 'failed', 1],
    ['OCSP', 'answered', 1],
    ['OCSP', 'failed', 1],
    ['CRL', 'answered', 4],
    ['CRL', 'failed', 3],
    ['CRL', 'abandoned', 1],
  ] as const)
    expect(text).toContain(`signetd_outgoing_requests_total{kind="${kind}",outcome="${outcome}"} ${count}\n`);
});

test('another failure of the same host is logged at once, but no more than five in a minute', () => {
  const log = recordingLog();
  let nowMs = 0;
  const told = outgoingMetrics(new Registry(), log, () => nowMs);
  const fail = (host: string, why: string): void => {
    told({ kind: 'CRL', host, outcome: 'failed', why });
  };
  for (const why of ['refused', 'refused', 'status 404', 'refused', 'status 404']) fail('a.example', why);
  expect(log.lines).toHaveLength(2);
  for (let status = 500; status < 520; status += 1) fail('a.example', `status ${status}`);
  expect(log.lines).toHaveLength(5);
  fail('b.example', 'refused');
  expect(log.lines).toHaveLength(6);
  nowMs = 60_000;
  fail('a.example', 'refused');
  expect(log.lines).toHaveLength(7);
});
