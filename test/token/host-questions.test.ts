import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectToHost, type HostQuestions } from '../../src/token/operator/host-questions.ts';
import { TokenFailure } from '../../src/token/operator/token-failure.ts';
import { FieldWriter } from '../../src/token/wire/fields.ts';
import { encodeAnswer, operations, statuses } from '../../src/token/wire/frames.ts';
import { PlayedHost } from './played-host.ts';

const longMs = 60_000;
const maxGreeting = 65_536;
let host: PlayedHost;
let questions: HostQuestions | undefined;

beforeEach(async () => {
  host = await new PlayedHost(2).listen();
});

afterEach(async () => {
  vi.useRealTimers();
  questions?.close();
  await host.remove();
});

async function connect(answerMs = longMs): Promise<HostQuestions> {
  questions = await connectToHost(host.socketPath, answerMs);
  if (questions === undefined) throw new Error('nobody listens');
  return questions;
}

/** What the host answers each question with. */
function answers(status: number, body: Uint8Array): void {
  host.asked = ({ id }, thread) => void thread.write(encodeAnswer(id, status, 5, body));
}

const unreachable = (text: string): unknown => expect.objectContaining({ name: 'TokenFailure', kind: 'unreachable', message: text });

describe('the connection of a command to the token host that runs', () => {
  it('is none if nobody listens', async () => {
    await host.end();
    expect(await connectToHost(host.socketPath, longMs)).toBeUndefined();
    expect(await connectToHost(`${host.socketPath}.none`, longMs)).toBeUndefined();
  });

  it('says why it cannot be, where the path is no address of a socket', async () => {
    const path = `${host.directory}/${'x'.repeat(200)}`;
    await expect(connectToHost(path, longMs)).rejects.toThrow(TokenFailure);
    await expect(connectToHost(path, longMs)).rejects.toThrow(`${path}: `);
  });

  it('asks the last thread, which the daemon fills last', async () => {
    const seen: [number, number, string][] = [];
    host.asked = ({ id, code, body }, thread, index) => {
      seen.push([index, code, body.toString()]);
      thread.write(encodeAnswer(id, statuses.ok, 5, Buffer.from(JSON.stringify({ answer: id }))));
    };
    const { ask } = await connect();
    expect(await ask('reportSlots', {})).toEqual({ answer: 1 });
    expect(await ask('reportMechanisms', { slot: '7' })).toEqual({ answer: 2 });
    expect(seen).toEqual([
      [1, operations.reportSlots, '{}'],
      [1, operations.reportMechanisms, '{"slot":"7"}'],
    ]);
  });

  it('takes a greeting of 65,536 characters, in whatever pieces it comes', async () => {
    answers(statuses.ok, Buffer.from('1'));
    const [line = ''] = host.greeting().split('\n');
    host.greet = (socket) => {
      socket.write(line.slice(0, 10));
      setImmediate(() => void socket.write(`${line.slice(10).padEnd(maxGreeting - 10)}\n`));
    };
    expect(await (await connect()).ask('reportSlots', {})).toBe(1);
  });

  it('waits for the end of the line as long as a greeting may be, and no longer', async () => {
    host.greet = (socket) => void socket.end('{'.padEnd(maxGreeting));
    await expect(connect()).rejects.toThrow('closed the connection');
    host.greet = (socket) => void socket.write('{'.padEnd(maxGreeting + 1));
    await expect(connect()).rejects.toEqual(unreachable('the token host speaks another version of its protocol; restart it'));
  });

  it.each<[string, (played: PlayedHost) => string]>([
    ['of another protocol', (played) => played.greeting({ protocol: 6 })],
    ['without threads', (played) => played.greeting({ threads: [] })],
    ['that is no JSON', () => 'hello\n'],
    ['of nothing', () => '\n'],
  ])('takes no greeting %s', async (_, greeting) => {
    host.greet = (socket) => void socket.write(greeting(host));
    const closed = new Promise((resolve) => {
      const { greet } = host;
      host.greet = (socket) => {
        socket.once('close', resolve);
        socket.resume();
        greet(socket);
      };
    });
    await expect(connect()).rejects.toThrow('another version of its protocol');
    await closed;
  });

  it('is refused if the host greets and its thread no longer listens', async () => {
    host.greet = (socket) => void socket.write(host.greeting({ threads: [`${host.socketPath}.0`, `${host.socketPath}.gone`] }));
    await expect(connect()).rejects.toEqual(unreachable('the token host is shutting down; try again'));
  });

  it('is refused if the host does not greet within five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    host.greet = () => undefined;
    const refused = expect(connect()).rejects.toEqual(unreachable('the token host sent no greeting within 5 s'));
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(5000);
    await refused;
  });

  it('is refused if the host closes its socket without a word', async () => {
    host.greet = (socket) => socket.destroy();
    await expect(connect()).rejects.toThrow('it serves only token.clientUser and root');
  });
});

describe('the answer of the token host to a question', () => {
  it('that is a fault is reported in words, or by the name of the code', async () => {
    const { ask } = await connect();
    const fault = (code: number, text: string): void => {
      answers(statuses.fault, new FieldWriter().u32(code).bytes(Buffer.from(text)).finish());
    };
    fault(0xa4, 'CKR_PIN_LOCKED:164');
    await expect(ask('reportSlots', {})).rejects.toMatchObject({
      kind: 'pinRefused',
      message: expect.stringContaining('locked') as unknown,
    });
    fault(0xe0, 'CKR_TOKEN_NOT_PRESENT:224');
    await expect(ask('reportSlots', {})).rejects.toEqual(unreachable('there is no token in the slot (CKR_TOKEN_NOT_PRESENT)'));
    fault(0x102, 'CKR_USER_PIN_NOT_INITIALIZED:258');
    await expect(ask('reportSlots', {})).rejects.toMatchObject({
      kind: 'pinRefused',
      message: expect.stringContaining('no user PIN yet') as unknown,
    });
    fault(0x54, 'CKR_FUNCTION_NOT_SUPPORTED:84');
    await expect(ask('reportSlots', {})).rejects.toEqual(unreachable('the PKCS#11 module returned CKR_FUNCTION_NOT_SUPPORTED, 0x54'));
    fault(0x8000_0001, 'a code of the vendor');
    await expect(ask('reportSlots', {})).rejects.toEqual(unreachable('the PKCS#11 module returned 0x80000001'));
    fault(0xffff_ffff, 'the file cannot be opened');
    await expect(ask('reportSlots', {})).rejects.toEqual(unreachable('the file cannot be opened'));
  });

  it('that is a refusal is told as it is', async () => {
    answers(statuses.forbidden, Buffer.from('a host that serves makes no keys'));
    await expect((await connect()).ask('reportProbe', { full: true })).rejects.toEqual(unreachable('a host that serves makes no keys'));
  });

  it('does not come if the host ends, or sends an invalid frame, meanwhile', async () => {
    const ended = unreachable('the token host ended before it answered; try again');
    host.asked = (_, thread) => thread.destroy();
    const { ask } = await connect();
    await expect(ask('reportSlots', {})).rejects.toEqual(ended);
    await expect(ask('reportSlots', {})).rejects.toEqual(ended);
    host.asked = (_, thread) => void thread.write(Buffer.alloc(64, 0xff));
    await expect((await connect()).ask('reportSlots', {})).rejects.toEqual(ended);
  });

  it('is awaited for its maximum duration', async () => {
    await expect((await connect(1)).ask('reportSlots', {})).rejects.toEqual(unreachable('the token host does not answer within 0.001 s'));
  });

  it('cannot be requested once the connection is closed', async () => {
    const left: Promise<unknown>[] = [];
    const leaves = (socket: Socket): void => {
      left.push(new Promise((resolve) => socket.once('close', resolve)));
    };
    host.greet = (socket) => {
      leaves(socket);
      socket.resume();
      socket.write(host.greeting());
    };
    host.asked = ({ id }, thread) => {
      leaves(thread);
      thread.write(encodeAnswer(id, statuses.ok, 5, Buffer.from('{}')));
    };
    const connection = await connect();
    await connection.ask('reportSlots', {});
    connection.close();
    expect((await Promise.all(left)).length).toBe(2);
    await expect(connection.ask('reportSlots', {})).rejects.toThrow('ended before it answered');
  });
});
