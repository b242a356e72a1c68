import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuditLog } from '../../src/audit/audit-log.ts';
import { SyslogConfig } from '../../src/config/syslog-config.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';
import { requestEntry, ScratchLog } from './scratch-log.ts';
import { SyslogReceiver } from './syslog-receiver.ts';

const deadline = { timeout: 60_000 };
let log: ScratchLog;
let audit: AuditLog | undefined;
let receiver: SyslogReceiver | undefined;
let directory: string;

beforeEach(() => {
  log = new ScratchLog();
  directory = mkdtempSync(join(tmpdir(), 'signetd-syslog-'));
});

afterEach(async () => {
  await audit?.stop();
  audit = undefined;
  await receiver?.close();
  receiver = undefined;
  log.remove();
  rmSync(directory, { recursive: true, force: true });
});

const syslogAt = (port: number, tls?: object): SyslogConfig =>
  SyslogConfig.parse({ host: '127.0.0.1', port, ...(tls === undefined ? {} : { tls }) });
const allLines = (): string[] => [...log.files().values()].flat();

async function record(count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await audit?.record(requestEntry(number));
}

/** Waits until each line of the log has come at least once, and nothing else, each for the first time in order. */
async function everythingCame(...receivers: SyslogReceiver[]): Promise<void> {
  await expect.poll(() => [...new Set(receivers.flatMap(({ lines }) => lines))], deadline).toEqual(allLines());
}

describe('the copies to a syslog server', () => {
  it('are the lines of the log, over its files, in messages of RFC 5424', async () => {
    receiver = new SyslogReceiver(createServer());
    audit = await log.open({ rotateBytes: 4096, syslog: syslogAt(await receiver.listen()) });
    await record(30);
    audit.refuseClient('no client certificate', '192.0.2.1');
    await everythingCame(receiver);
    expect(log.files().size).toBeGreaterThan(2);
    for (const message of receiver.messages) {
      expect(message).toMatch(
        /^<1(?:08|09)>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [\x21-\x7e]+ signetd - [a-z-]+ \[meta sequenceId="\d+"\] \{"n":/,
      );
      const {
        n,
        time,
        kind,
        major = 0,
      } = JSON.parse(message.slice(message.indexOf('] {') + 2)) as { n: number; time: string; kind: string; major?: number };
      expect(message).toContain(` ${time.slice(0, 19)}`);
      expect(message).toContain(` ${kind} [meta sequenceId="${n}"]`);
      // Warning if refused, else notice, of the facility log audit.
      expect(message.startsWith(major === 0 ? '<109>' : '<108>')).toBe(true);
    }
    expect(audit.status.syslog).toEqual({ isConnected: true, waitingRecords: 0, fault: undefined });
  });

  it('go on after an outage of the server: no record is missing', async () => {
    const first = new SyslogReceiver(createServer());
    const port = await first.listen();
    audit = await log.open({ rotateBytes: 8192, syslog: syslogAt(port) });
    await record(20);
    await everythingCame(first);
    await first.close();
    await record(20);
    await vi.waitFor(() => {
      expect(audit?.status.syslog).toMatchObject({ isConnected: false, fault: expect.any(String) as string });
    }, deadline);
    await record(20);
    expect(audit.status.syslog?.waitingRecords).toBeGreaterThan(0);
    receiver = new SyslogReceiver(createServer());
    await receiver.listen(port);
    await everythingCame(first, receiver);
  });

  it('go on after a restart of the service, also with what was recorded while the server was away', async () => {
    const first = new SyslogReceiver(createServer());
    const port = await first.listen();
    audit = await log.open({ syslog: syslogAt(port) });
    await record(10);
    await everythingCame(first);
    await first.close();
    await record(10);
    await audit.stop();
    receiver = new SyslogReceiver(createServer());
    await receiver.listen(port);
    audit = await log.open({ syslog: syslogAt(port) });
    await record(1);
    await everythingCame(first, receiver);
  });

  it('begin with the records after the first start with a server', async () => {
    audit = await log.open();
    await record(5);
    await audit.stop();
    const before = allLines();
    receiver = new SyslogReceiver(createServer());
    audit = await log.open({ syslog: syslogAt(await receiver.listen()) });
    await record(5);
    const added = (): string[] => allLines().slice(before.length);
    await expect.poll(() => receiver?.lines, deadline).toEqual(added());
  });

  it('never hold up a record: not if nobody reads them, not if nobody listens', async () => {
    const silent = createServer((socket) => socket.pause());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    audit = await log.open({ syslog: syslogAt((silent.address() as AddressInfo).port) });
    const long = 'x'.repeat(100_000);
    for (let number = 0; number < 200; number += 1) await audit.record({ ...requestEntry(number), requestID: long });
    await audit.stop();
    silent.close();
    audit = await log.open({ syslog: syslogAt(9) });
    await record(50);
    expect((await log.verify()).bad).toBe(undefined);
  });

  it('are kept in the log until they were sent: nothing else is removed', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      vi.setSystemTime(new Date('2026-03-01T12:00:00Z'));
      audit = await log.open({ rotateBytes: 4096, syslog: syslogAt(9) });
      await record(40);
      await audit.stop();
      audit = await log.open({ rotateBytes: 4096, syslog: syslogAt(9) });
      expect(await audit.removeBefore(Date.now() + 1000)).toBe(undefined);
      await audit.stop();
      audit = await log.open({ rotateBytes: 4096 });
      expect((await audit.removeBefore(Date.now() + 1000))?.files.length).toBeGreaterThan(1);
    } finally {
      vi.useRealTimers();
    }
  });

  it('go over TLS with a client certificate, and to no server of another authority', async () => {
    const authority = new ScratchAuthority(directory, 'syslog');
    const server = authority.issue('server', { subjectAltName: 'IP:127.0.0.1', extendedKeyUsage: 'serverAuth' });
    const client = authority.issue('client', { extendedKeyUsage: 'clientAuth' });
    const ca = join(directory, 'ca.pem');
    writeFileSync(ca, readFileSync(authority.certificate));
    const tlsServer = createTlsServer({
      ...{ cert: readFileSync(server.certificate), key: readFileSync(server.key), ca: readFileSync(ca) },
      ...{ requestCert: true, rejectUnauthorized: true },
    });
    receiver = new SyslogReceiver(tlsServer);
    const port = await receiver.listen();
    const other = new ScratchAuthority(directory, 'other');
    audit = await log.open({
      syslog: syslogAt(port, { certificateAuthority: other.certificate, certificate: client.certificate, key: `file:${client.key}` }),
    });
    await record(5);
    await expect.poll(() => audit?.status.syslog?.fault, deadline).toMatch(/certificate/);
    expect(receiver.messages).toEqual([]);
    await audit.stop();
    audit = await log.open({
      syslog: syslogAt(port, { certificateAuthority: ca, certificate: client.certificate, key: `file:${client.key}` }),
    });
    await record(5);
    await everythingCame(receiver);
  });

  it('start from the beginning if the stored place is unreadable', async () => {
    audit = await log.open();
    await record(3);
    await audit.stop();
    writeFileSync(join(log.directory, 'syslog-position.json'), 'nonsense');
    receiver = new SyslogReceiver(createServer());
    audit = await log.open({ syslog: syslogAt(await receiver.listen()) });
    await everythingCame(receiver);
  });
});

it.each([
  [{ host: 'siem.example.org' }, 'required unless host is localhost'],
  [{ host: '192.0.2.1', port: 514 }, 'required unless host is localhost'],
  [{ host: '127.evil.example' }, 'required unless host is localhost'],
  [{ host: 'siem.example.org', tls: { key: 'file:/x' } }, 'certificate and key must be given together'],
])('a syslog server elsewhere needs TLS: %j', (value, text) => {
  expect(SyslogConfig.safeParse(value).error?.message).toContain(text);
});
