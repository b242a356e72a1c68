import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fileName } from '../../src/audit/file-names.ts';
import { beginning, chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { SyslogConnection } from '../../src/audit/syslog/connection.ts';
import { SyslogForwarder } from '../../src/audit/syslog/forwarder.ts';
import { syslogHostname, syslogMessage } from '../../src/audit/syslog/message.ts';
import { PositionFile, type Position } from '../../src/audit/syslog/position.ts';
import { endOfLog, unsentLines } from '../../src/audit/syslog/unsent-lines.ts';
import { SyslogConfig } from '../../src/config/syslog-config.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';
import { recordingLog } from '../support/silent-log.ts';
import { requestEntry } from './scratch-log.ts';
import { SyslogReceiver } from './syslog-receiver.ts';

const deadline = { timeout: 60_000 };
const time = '2026-03-02T10:15:30.123Z';
const log = recordingLog();
let directory: string;
let place = beginning;
let durable: number;
let forwarder: SyslogForwarder | undefined;
let receiver: SyslogReceiver | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-forwarder-'));
  place = beginning;
  durable = 0;
  log.lines.length = 0;
});
afterEach(async () => {
  await forwarder?.stop();
  forwarder = undefined;
  await receiver?.close();
  receiver = undefined;
  rmSync(directory, { recursive: true });
});

/** Appends records to a file of the log. Answers their lines. */
function write(file: number, count: number): string[] {
  const lines = Array.from({ length: count }, () => {
    const line = chainedLine(place, time, entryBody(requestEntry(place.n + 1)));
    place = { n: place.n + 1, hash: lineHash(line) };
    return line;
  });
  appendFileSync(join(directory, fileName(file)), lines.map((line) => `${line}\n`).join(''));
  durable = place.n;
  return lines;
}

const start: Position = { file: 1, offset: 0, record: 0 };
const textsOf = (lines: readonly { readonly line: Buffer }[]): string[] => lines.map(({ line }) => line.toString());

/** Reads until nothing more comes. */
async function allUnsent(): Promise<{ readonly lines: string[]; readonly reads: number; readonly after: Position }> {
  const lines: string[] = [];
  let after = start;
  for (let reads = 1; ; reads += 1) {
    const next = await unsentLines(directory, after, durable);
    lines.push(...textsOf(next.lines));
    if (next.lines.length === 0 && next.after.file === after.file && next.after.offset === after.offset) return { lines, reads, after };
    ({ after } = next);
  }
}

describe('the lines that are not sent', () => {
  it('are those of each file to its end, some at a time, each once and in order', async () => {
    const written = [...write(1, 4000), ...write(2, 5000), ...write(4, 1)];
    const { lines, reads, after } = await allUnsent();
    expect(lines).toEqual(written);
    expect(reads).toBeGreaterThan(15);
    expect([after.file, after.record]).toEqual([4, 9001]);
    const first = await unsentLines(directory, start, durable);
    const bytes = first.lines.reduce((sum, { line }) => sum + line.length, 0);
    expect([bytes >= 256 * 1024, bytes < 256 * 1024 + 10_000]).toEqual([true, true]);
  });

  it('end with the last record that is on disk, also where the next file has begun', async () => {
    const [one = '', two = '', three = ''] = write(1, 3);
    durable = 1;
    expect((await allUnsent()).lines).toEqual([one]);
    const [four = ''] = write(2, 1);
    for (const [known, wanted] of [
      [1, [one]],
      [2, [one, two]],
      [4, [one, two, three, four]],
    ] as const) {
      durable = known;
      const { lines, after } = await allUnsent();
      expect([lines, after.record, after.file]).toEqual([wanted, known, known === 4 ? 2 : 1]);
    }
  });

  it('leave out a line that is not whole, for as long as it is the last one', async () => {
    const [one = ''] = write(1, 1);
    const whole = readFileSync(join(directory, fileName(1)), 'utf8');
    const [two = ''] = write(1, 1);
    writeFileSync(join(directory, fileName(1)), `${whole}${two.slice(0, 40)}`);
    expect((await allUnsent()).lines).toEqual([one]);
    const [three = ''] = write(2, 1);
    expect((await allUnsent()).lines).toEqual([one, three]);
    writeFileSync(join(directory, fileName(1)), `${whole}${two}\n`);
    expect((await allUnsent()).lines).toEqual([one, two, three]);
  });

  it('begin with the oldest file that is left, and there are none without files', async () => {
    expect(await unsentLines(directory, start, 5)).toEqual({ lines: [], after: start });
    const written = write(7, 2);
    expect((await allUnsent()).lines).toEqual(written);
    const middle = { file: 7, offset: (written[0]?.length ?? 0) + 1, record: 1 };
    const { lines, after } = await unsentLines(directory, middle, durable);
    expect([textsOf(lines), after]).toEqual([written.slice(1), { file: 7, offset: written.join('\n').length + 1, record: 2 }]);
  });

  it('begin for the first time at the end of the newest file', async () => {
    expect(await endOfLog(directory, 0)).toEqual({ file: 0, offset: 0, record: 0 });
    write(1, 2);
    const [last = ''] = write(2, 1);
    expect(await endOfLog(directory, 3)).toEqual({ file: 2, offset: last.length + 1, record: 3 });
  });
});

describe('the message of a record', () => {
  const at = { facility: 13, hostname: 'host' };
  const priority = (body: string, facility = 13): string => {
    const line = Buffer.from(`{"n":7,"time":"${time}","previous":"",${body}}`);
    return /^\d+ <(\d+)>1 /.exec(syslogMessage(line, { n: 7, time: Date.parse(time) }, { ...at, facility }).toString())?.[1] ?? '';
  };

  it.each([
    ['a success', '"kind":"request","major":0,"minor":0', 5],
    ['a refusal', '"kind":"request","major":2,"minor":202', 4],
    ['an error of the request', '"kind":"request","major":1,"minor":101', 4],
    ['an HTTP problem', '"kind":"request","status":503', 4],
    ['a command that failed', '"kind":"administration","fault":"x"', 4],
    ['a gap', '"kind":"open","gap":"x"', 4],
    ['an outage', '"kind":"outage","refused":1', 4],
    ['refused clients', '"kind":"refused-clients","count":1', 4],
    ['secrets that were not compared', '"kind":"wrong-secrets","count":1', 4],
    ['rows that were changed from outside', '"kind":"request","tampered":"x","major":0', 1],
    ['rows that were changed, of a refused request', '"kind":"request","tampered":"x","major":2', 1],
    ['a checkpoint', '"kind":"checkpoint"', 5],
  ])('of %s has its severity', (_what, body, severity) => {
    expect(priority(body)).toBe(String(13 * 8 + severity));
    expect(priority(body, 0)).toBe(String(severity));
  });

  it('counts its octets, and has the exact line', () => {
    const line = Buffer.from(`{"n":7,"time":"${time}","kind":"request","key":"ä€"}`);
    const message = syslogMessage(line, { n: 7, time: Date.parse(time) }, at);
    const [count = ''] = message.toString('latin1').split(' ', 1);
    expect(Number(count)).toBe(message.length - count.length - 1);
    expect(message.subarray(-line.length).equals(line)).toBe(true);
    expect(message.toString()).toContain(`>1 ${time} host signetd - request [meta sequenceId="7"] {`);
  });

  it('has a sequence of 1 to 2147483647, and no kind that is none', () => {
    const sequence = (n: number): string | undefined =>
      /sequenceId="(\d+)"/.exec(syslogMessage(Buffer.from('{}'), { n, time: 0 }, at).toString())?.[1];
    expect([1, 2_147_483_647, 2_147_483_648, 4_294_967_295].map(sequence)).toEqual(['1', '2147483647', '1', '1']);
    expect(syslogMessage(Buffer.from('{"kind":"A b"}'), { n: 1, time: 0 }, at).toString()).toContain(' signetd - - [meta ');
  });

  it('has a host name of printable ASCII', () => {
    expect([syslogHostname('signing-1'), syslogHostname('ä b\n'), syslogHostname('é'), syslogHostname('x'.repeat(300)).length]).toEqual([
      'signing-1',
      'b',
      '-',
      255,
    ]);
  });
});

const settleMs = 300;

async function forward(
  port: number,
  { required = false, lagMaxSeconds = 1, tls = undefined as object | undefined, settle = settleMs } = {},
): Promise<SyslogForwarder> {
  // Shorter than a configuration may have it.
  const server = { ...SyslogConfig.parse({ host: '127.0.0.1', port, required, ...(tls === undefined ? {} : { tls }) }), lagMaxSeconds };
  forwarder = await SyslogForwarder.open({ directory, server, log, settleMs: settle }, () => durable);
  forwarder.start();
  return forwarder;
}

const storedRecord = (): number | undefined => new PositionFile(directory).read()?.record;

describe('forwarding', () => {
  it('sends 9,000 lines over two files, each at least once and for the first time in order', async () => {
    await new PositionFile(directory).write(start);
    const written = [...write(1, 4500), ...write(2, 4500)];
    receiver = new SyslogReceiver();
    await forward(await receiver.listen());
    await expect.poll(() => receiver?.messages.length, deadline).toBeGreaterThanOrEqual(9000);
    expect([...new Set(receiver.lines)]).toEqual(written);
    await expect.poll(storedRecord, deadline).toBe(9000);
    expect(forwarder?.receivedRecord).toBe(9000);
  });

  it('sends again what a server took in and lost with its connection', async () => {
    await new PositionFile(directory).write(start);
    const written = write(1, 20);
    // It accepts, does not read, and resets.
    receiver = new SyslogReceiver(createServer({ pauseOnConnect: true }), () => undefined);
    const port = await receiver.listen();
    const silent = receiver;
    await forward(port, { settle: 60_000 });
    await expect.poll(() => forwarder?.status.waitingRecords, deadline).toBe(0);
    // Its machine acknowledges all of them, which is not enough: the next ones find them still unsettled.
    written.push(...write(1, 1));
    await expect.poll(() => forwarder?.status.waitingRecords, deadline).toBe(0);
    expect([forwarder?.receivedRecord, storedRecord()]).toEqual([0, 0]);
    silent.reset();
    await expect.poll(() => silent.connections, deadline).toBeGreaterThan(1);
    await silent.close();
    receiver = new SyslogReceiver();
    await receiver.listen(port);
    await expect.poll(() => receiver?.lines.slice(0, 21), deadline).toEqual(written);
  });

  it('takes records over TLS as received too', async () => {
    const authority = new ScratchAuthority(directory, 'syslog');
    const server = authority.issue('server', { subjectAltName: 'IP:127.0.0.1', extendedKeyUsage: 'serverAuth' });
    receiver = new SyslogReceiver(createTlsServer({ cert: readFileSync(server.certificate), key: readFileSync(server.key) }));
    await new PositionFile(directory).write(start);
    const written = write(1, 20);
    await forward(await receiver.listen(), { tls: { certificateAuthority: authority.certificate }, required: true });
    await expect.poll(() => receiver?.lines, deadline).toEqual(written);
    await expect.poll(() => forwarder?.receivedRecord, deadline).toBe(20);
    await expect.poll(() => forwarder?.heldUp, deadline).toBe(undefined);
  });

  it('keeps its place where it cannot store it', async () => {
    await new PositionFile(directory).write(start);
    const position = join(directory, 'syslog-position.json');
    expect(existsSync(position)).toBe(true);
    write(1, 5);
    receiver = new SyslogReceiver();
    const port = await receiver.listen();
    await forward(port);
    await expect.poll(storedRecord, deadline).toBe(5);
    await forwarder?.stop();
    forwarder = undefined;
    const added = write(1, 3);
    await forward(port);
    await expect.poll(() => receiver?.lines.slice(5), deadline).toEqual(added);
  });
});

it('a server that fails again and again is logged once, and without TLS is none', async () => {
  const authority = new ScratchAuthority(directory, 'syslog');
  receiver = new SyslogReceiver(createServer(), (socket) => socket.end('no TLS here'));
  const plain = receiver;
  const one = await forward(await receiver.listen(), { tls: { certificateAuthority: authority.certificate }, required: true });
  await expect.poll(() => plain.connections, deadline).toBeGreaterThan(3);
  expect([one.status.isConnected, one.heldUp]).toEqual([false, expect.stringMatching(/SSL|TLS/)]);
  expect(log.lines).toEqual([expect.stringContaining('audit records cannot be sent to the syslog server')]);
});

describe('a server that is required', () => {
  it('holds requests up until it is reached, while it is away, and not after it has come back', async () => {
    const reserved = new SyslogReceiver();
    const port = await reserved.listen();
    await reserved.close();
    const one = await forward(port, { required: true });
    expect(one.heldUp).toBe('not connected yet');
    await one.attempted;
    await expect.poll(() => one.heldUp, deadline).toContain('ECONNREFUSED');
    expect(one.status).toMatchObject({ isConnected: false, handOver: { isHeldUp: true } });
    for (let outage = 0; outage < 2; outage += 1) {
      receiver = new SyslogReceiver();
      await receiver.listen(port);
      await expect.poll(() => one.heldUp, deadline).toBe(undefined);
      const written = write(1, 10);
      await expect.poll(() => receiver?.lines.slice(-10), deadline).toEqual(written);
      await receiver.close();
      await expect.poll(() => one.heldUp, deadline).toContain('ECONNREFUSED');
    }
    const said = (words: string): number => log.lines.filter((line) => line.startsWith(words)).length;
    expect(said('audit records are handed over')).toBeGreaterThanOrEqual(2);
    expect(said('audit records cannot be handed over to the syslog server; requests are refused')).toBeGreaterThanOrEqual(2);
  });

  it('holds requests up if it does not read: what its machine has not acknowledged is not received', async () => {
    await new PositionFile(directory).write(start);
    receiver = new SyslogReceiver(createServer({ pauseOnConnect: true }), () => undefined);
    const one = await forward(await receiver.listen(), { required: true });
    await expect.poll(() => one.heldUp, deadline).toBe(undefined);
    // More than the other machine takes for it, and less than this one holds.
    write(1, 3000);
    await expect.poll(() => one.heldUp, deadline).toBe('it does not acknowledge them');
    expect(one.status).toMatchObject({ isConnected: true, fault: undefined, handOver: { isHeldUp: true } });
    expect(one.status.handOver?.lagSeconds).toBeGreaterThan(1);
    // The kernels hold much more of it: it counts as sent.
    expect([one.receivedRecord < 1500, one.status.waitingRecords < 3000, storedRecord()]).toEqual([true, true, one.receivedRecord]);
  });

  it('holds requests up if it acknowledges nothing, though the kernel has taken everything for it', async () => {
    receiver = new SyslogReceiver();
    const one = await forward(await receiver.listen(), { required: true, lagMaxSeconds: 4 });
    await expect.poll(() => one.heldUp, deadline).toBe(undefined);
    const progress = vi.spyOn(SyslogConnection.prototype, 'progress', 'get').mockReturnValue({ acknowledged: 0, sent: 1 });
    try {
      write(1, 10);
      await expect.poll(() => one.heldUp, deadline).toBe('it does not acknowledge them');
      expect([one.status.waitingRecords, one.receivedRecord, storedRecord()]).toEqual([0, 0, 0]);
    } finally {
      progress.mockRestore();
    }
    await expect.poll(() => [one.heldUp, one.receivedRecord], deadline).toEqual([undefined, 10]);
  });

  it('holds requests up if it takes connections and drops them', async () => {
    receiver = new SyslogReceiver(createServer(), (socket) => socket.resetAndDestroy());
    const dropping = receiver;
    const one = await forward(await receiver.listen(), { required: true });
    await expect.poll(() => dropping.connections, deadline).toBeGreaterThan(2);
    await expect.poll(() => one.heldUp, deadline).not.toBe(undefined);
    const { connections } = dropping;
    await expect.poll(() => dropping.connections, deadline).toBeGreaterThan(connections);
    expect(one.heldUp).not.toBe(undefined);
  });

  it('is not told of a failure that its own stop made', async () => {
    receiver = new SyslogReceiver();
    const one = await forward(await receiver.listen(), { required: true });
    await one.attempted;
    await one.stop();
    forwarder = undefined;
    expect(log.lines.filter((line) => line.includes('cannot be sent'))).toEqual([]);
  });

  it('holds nothing up unless it is required', async () => {
    const one = await forward(9);
    await expect.poll(() => one.status.fault, deadline).toContain('ECONNREFUSED');
    expect([one.heldUp, one.status.handOver]).toEqual([undefined, undefined]);
  });
});
