import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HostLink, type LinkEvents } from '../../src/token/client/host-link.ts';
import type { TokenRequest } from '../../src/token/client/request-lane.ts';
import { encodeAnswer, operations, statuses, type Frame } from '../../src/token/wire/frames.ts';
import { PlayedHost } from './played-host.ts';

let host: PlayedHost;
let links: HostLink[];
let answered: [number, string][];
let farewells: string[];

beforeEach(async () => {
  [links, answered, farewells] = [[], [], []];
  host = await new PlayedHost(2).listen();
});

afterEach(async () => {
  for (const link of links) link.close();
  vi.useRealTimers();
  await host.remove();
});

async function connect(events: Partial<LinkEvents> = {}): Promise<HostLink> {
  const link = await HostLink.connect(host.socketPath, {
    answered: (_, { id }, { body }) => void answered.push([id, body.toString()]),
    draining: (_, reason) => void farewells.push(reason),
    ...events,
  });
  links.push(link);
  return link;
}

function request(id: number, slow = false): TokenRequest {
  const [queuedAtMs, deadlineMs] = [0, Infinity];
  const common = { operation: 'sign', code: operations.sign, body: Buffer.from(`body ${id}`), queuedAtMs, deadlineMs } as const;
  const whose = { sender: undefined, continues: false, expectedMs: undefined };
  return { ...common, ...whose, id, repeatable: true, repeated: false, slow, settle: () => undefined, fail: () => undefined };
}

const reply = (id: number, text = '', status: number = statuses.ok): Buffer => encodeAnswer(id, status, 5, Buffer.from(text));

describe('the link to a token host', () => {
  it('connects to the threads that the greeting names', async () => {
    const asked: [number, Frame][] = [];
    const all = Promise.withResolvers<void>();
    host.asked = (frame, _, index) => {
      asked.push([index, frame]);
      if (asked.length === 3) all.resolve();
    };
    const link = await connect();
    expect([link.threads.length, link.probe.vendor, link.closed, link.draining, link.idle]).toEqual([2, 'played', false, false, true]);
    link.threads[1]?.send(request(7));
    link.threads[0]?.send(request(8));
    link.threads[1]?.send(request(9));
    expect(link.idle).toBe(false);
    await all.promise;
    const told = asked.map(([index, { id, code, body }]) => [index, id, code, body.toString()]);
    expect(told.toSorted(([, one], [, other]) => Number(one) - Number(other))).toEqual([
      [1, 7, operations.sign, 'body 7'],
      [0, 8, operations.sign, 'body 8'],
      [1, 9, operations.sign, 'body 9'],
    ]);
  });

  it.each<[string, () => string]>([
    ['of another protocol', () => host.greeting({ protocol: 6 })],
    ['that is no JSON', () => 'hello\n'],
    ['of a thread that does not listen', () => host.greeting({ threads: [`${host.socketPath}.0`, `${host.socketPath}.gone`] })],
  ])('is none after a greeting %s, and the connection ends', async (_, greeting) => {
    const closed = Promise.withResolvers<void>();
    host.greet = (socket) => {
      socket.resume();
      socket.once('close', () => closed.resolve());
      socket.write(greeting());
    };
    await expect(connect()).rejects.toThrow();
    await closed.promise;
  });

  it('does not exist if nobody listens, or if the host closes its socket without a greeting', async () => {
    host.greet = (socket) => socket.destroy();
    await expect(connect()).rejects.toThrow('the host closed its socket');
    await host.end();
    await expect(connect()).rejects.toThrow('ENOENT');
  });

  it('does not exist if the host is silent for five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    host.greet = () => undefined;
    const waited = async (connections: number): Promise<void> => {
      while (vi.getTimerCount() === 0 || host.control.length < connections) await new Promise((resolve) => setImmediate(resolve));
    };
    const refused = expect(connect()).rejects.toThrow('the host closed its socket');
    await waited(1);
    vi.advanceTimersByTime(5000);
    await refused;
    const connecting = connect();
    await waited(2);
    vi.advanceTimersByTime(4999);
    host.control[1]?.write(host.greeting());
    const link = await connecting;
    expect([link.closed, vi.getTimerCount()]).toEqual([false, 0]);
  });

  it('takes a greeting in pieces, and each line after it for a farewell', async () => {
    const line = host.greeting();
    host.greet = (socket) => {
      socket.write(line.slice(0, 20));
      setImmediate(() => void socket.write(line.slice(20)));
    };
    const told = Promise.withResolvers<void>();
    const link = await connect({
      draining: (_, reason) => {
        farewells.push(reason);
        if (farewells.length === 2) told.resolve();
      },
    });
    host.control[0]?.write('{"draining":"one"}\n{"draining":');
    setImmediate(() => void host.control[0]?.write('"two"}\n'));
    await told.promise;
    expect([farewells, link.closed]).toEqual([['one', 'two'], false]);
  });

  it('matches each answer with its request, and ignores answers without one', async () => {
    host.asked = ({ id }, thread) => void thread.write(Buffer.concat([reply(99, 'nobody asked'), reply(id, `answer ${id}`)]));
    const both = Promise.withResolvers<void>();
    const link = await connect({
      answered: (_, { id }, { body }) => {
        answered.push([id, body.toString()]);
        if (answered.length === 2) both.resolve();
      },
    });
    link.threads[0]?.send(request(1));
    link.threads[0]?.send(request(2));
    await both.promise;
    expect(answered).toEqual([
      [1, 'answer 1'],
      [2, 'answer 2'],
    ]);
    expect([link.idle, link.closed]).toEqual([true, false]);
  });

  it('knows a thread that makes a key until that is answered', async () => {
    const done = Promise.withResolvers<void>();
    const link = await connect({ answered: () => done.resolve() });
    const [thread] = link.threads;
    if (thread === undefined) throw new Error('two threads');
    host.asked = ({ id }, socket) => void (id === 2 && socket.write(reply(2)));
    thread.send(request(1));
    expect(thread.slow).toBe(false);
    thread.send(request(2, true));
    expect(thread.slow).toBe(true);
    await done.promise;
    expect([thread.slow, thread.pending.size]).toEqual([false, 1]);
  });

  it('counts the silence of a thread from its last answer, or from its first request', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const heard = Promise.withResolvers<void>();
    const link = await connect({ answered: () => heard.resolve() });
    const [thread] = link.threads;
    if (thread === undefined) throw new Error('two threads');
    host.asked = ({ id }, socket) => void (id === 2 && socket.write(reply(2)));
    vi.advanceTimersByTime(500);
    expect(thread.silentMs(performance.now())).toBe(0);
    thread.send(request(1));
    vi.advanceTimersByTime(70);
    expect(thread.silentMs(performance.now())).toBe(70);
    thread.send(request(2));
    expect(thread.silentMs(performance.now())).toBe(70);
    await heard.promise;
    expect(thread.silentMs(performance.now())).toBe(0);
    vi.advanceTimersByTime(30);
    expect(thread.silentMs(performance.now() + 1)).toBe(31);
  });

  it.each<[string, () => void]>([
    ['its control socket', () => host.control[0]?.destroy()],
    ['a thread', () => void (host.asked = (_, thread) => thread.destroy())],
    ['the sense of what a thread sends', () => void (host.asked = (_, thread) => void thread.write(Buffer.alloc(64, 0xff)))],
  ])('ends with %s, and answers what was on its way', async (_, end) => {
    const link = await connect();
    end();
    const sent = [request(1), request(2)];
    link.threads[0]?.send(sent[0] ?? request(0));
    link.threads[1]?.send(sent[1] ?? request(0));
    const unanswered = await link.ended;
    expect(unanswered.map(({ id }) => id)).toEqual([1, 2]);
    expect([link.closed, link.idle]).toEqual([true, true]);
  });

  it('closes all of its connections', async () => {
    const threads: Promise<unknown>[] = [];
    const both = Promise.withResolvers<void>();
    host.asked = (_, thread) => {
      threads.push(once(thread, 'close'));
      if (threads.length === 2) both.resolve();
    };
    const link = await connect();
    for (const [index, thread] of link.threads.entries()) thread.send(request(index));
    await both.promise;
    const control = host.control.map(async (socket) => once(socket.resume(), 'close'));
    link.close();
    expect((await Promise.all([...threads, ...control])).length).toBe(3);
    expect((await link.ended).length).toBe(2);
  });
});

describe('the first question to a host', () => {
  it('goes to its first thread, and returns the answer of the host', async () => {
    const seen: [number, number, number, number][] = [];
    host.asked = ({ id, code, body }, thread, index) => {
      seen.push([index, id, code, body.length]);
      thread.write(reply(id, 'key', statuses.noMacKey));
    };
    const link = await connect({ answered: (_, one, answer) => one.settle(answer) });
    expect(await link.askFirst('checkMacKey', 60_000)).toMatchObject({ status: statuses.noMacKey, body: Buffer.from('key') });
    expect(seen).toEqual([[0, 0, operations.checkMacKey, 0]]);
  });

  it('has no answer if the host ends, or if none comes in time', async () => {
    const link = await connect();
    expect(await link.askFirst('checkMacKey', 1)).toBeUndefined();
    host.asked = (_, thread) => thread.destroy();
    const other = await connect();
    expect(await other.askFirst('checkMacKey', 60_000)).toBeUndefined();
  });
});
