import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Dispatcher, type DispatcherLimits } from '../../src/token/client/dispatcher.ts';
import { HostLink } from '../../src/token/client/host-link.ts';
import type { TokenRequest } from '../../src/token/client/request-lane.ts';
import { TokenBusy, TokenUnavailable } from '../../src/token/token.ts';
import { FieldWriter } from '../../src/token/wire/fields.ts';
import { encodeAnswer, operations, statuses, type Answer } from '../../src/token/wire/frames.ts';
import { PlayedHost } from './played-host.ts';

const limits: DispatcherLimits = { queueMaxRequests: 200, deadlineMs: 10_000, outageMs: 4000 };
/** How often those are looked for whose time is over. */
const sweepMs = 100;
const ended = 'the token host ended while it worked on the request';

interface Seen {
  readonly settled: Answer[];
  readonly failed: Error[];
}

let host: PlayedHost;
let dispatcher: Dispatcher;
let observed: unknown[][];
let links: HostLink[];
let nextId: number;

beforeEach(() => {
  // Sockets, and the turns of the loop, are real.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  [observed, links, nextId] = [[], [], 1];
  dispatcher = dispatcherWith();
});

afterEach(async () => {
  dispatcher.close();
  for (const link of links) link.close();
  vi.useRealTimers();
  await host.remove();
});

function dispatcherWith(changes: Partial<DispatcherLimits> = {}): Dispatcher {
  return new Dispatcher({ ...limits, ...changes }, (...told) => void observed.push(told));
}

/** A host with so many threads, which is connected to; the dispatcher does not know it yet. */
async function linkTo(threads: number): Promise<HostLink> {
  host = await new PlayedHost(threads).listen();
  const link = await HostLink.connect(host.socketPath, {
    answered: (...told) => {
      dispatcher.answered(...told);
    },
    draining: () => undefined,
  });
  links.push(link);
  return link;
}

async function connected(threads: number): Promise<HostLink> {
  const link = await linkTo(threads);
  dispatcher.connect(link);
  return link;
}

function request(changes: Partial<TokenRequest> = {}): TokenRequest & Seen {
  const seen: Seen = { settled: [], failed: [] };
  const now = performance.now();
  const id = nextId;
  nextId += 1;
  return {
    ...{ id, operation: 'sign', code: operations.sign, body: Buffer.alloc(0), queuedAtMs: now, deadlineMs: now + 12_000 },
    ...{ sender: undefined, repeatable: true, repeated: false, slow: false, continues: false, expectedMs: undefined },
    settle: (settled) => void seen.settled.push(settled),
    fail: (error) => void seen.failed.push(error),
    ...changes,
    ...seen,
  };
}

function add(count: number, changes: Partial<TokenRequest> = {}): (TokenRequest & Seen)[] {
  return Array.from({ length: count }, () => {
    const one = request(changes);
    dispatcher.add(one);
    return one;
  });
}

const atThreads = (link: HostLink): number[][] => link.threads.map(({ pending }) => [...pending.keys()]);
const counts = (link: HostLink): number[] => link.threads.map(({ pending }) => pending.size);

/** As if the token had answered, after so many microseconds. */
function answer(
  link: HostLink,
  one: TokenRequest,
  tokenMicroseconds = 1000,
  status: number = statuses.ok,
  body: Buffer = Buffer.alloc(0),
): void {
  for (const thread of link.threads) thread.take(one.id);
  dispatcher.answered(link, one, { id: one.id, status, tokenMicroseconds, body });
}

const faultBody = (code: number): Buffer => new FieldWriter().u32(code).bytes(Buffer.from('fault')).finish();

describe('requests to the threads of the host', () => {
  it('go to the thread with the fewest, four to each where one takes a millisecond, and the next one with each answer', async () => {
    const link = await connected(2);
    const all = add(10);
    expect(atThreads(link)).toEqual([
      [1, 3, 5, 7],
      [2, 4, 6, 8],
    ]);
    expect(dispatcher.waiting).toBe(2);
    const [, second] = all;
    if (second === undefined) throw new Error('ten requests');
    answer(link, second);
    expect(atThreads(link)).toEqual([
      [1, 3, 5, 7],
      [4, 6, 8, 9],
    ]);
    expect(dispatcher.waiting).toBe(1);
    expect([second.settled.length, second.failed.length]).toEqual([1, 0]);
  });

  /** Each counts a sixteenth in the mean, which is a millisecond at first: 0.04 ms after these. */
  function answerQuickly(link: HostLink): void {
    for (let count = 0; count < 50; count += 1) {
      const [one] = add(1);
      if (one !== undefined) answer(link, one, 0);
    }
  }

  it('go in batches where they take little: what comes while a thread is at work waits for its answers', async () => {
    const link = await connected(2);
    answerQuickly(link);
    const batch = add(4);
    expect(counts(link)).toEqual([4, 0]);
    await turn();
    add(2);
    expect([counts(link), dispatcher.waiting]).toEqual([[4, 0], 2]);
    for (const one of batch.slice(0, 3)) answer(link, one, 0);
    expect([counts(link), dispatcher.waiting]).toEqual([[1, 0], 2]);
    for (const one of batch.slice(3)) answer(link, one, 0);
    expect([counts(link), dispatcher.waiting]).toEqual([[2, 0], 0]);
  });

  it('go to another thread where the one at work does not answer', async () => {
    const link = await connected(2);
    answerQuickly(link);
    add(1);
    await turn();
    add(2);
    expect(counts(link)).toEqual([1, 0]);
    vi.advanceTimersByTime(5);
    await vi.waitFor(() => {
      expect(counts(link)).toEqual([1, 2]);
    });
  });

  it('wake another thread where more than 1.5 ms of work waits, and are 32 at each at most', async () => {
    const link = await connected(2);
    answerQuickly(link);
    add(4);
    await turn();
    // Their mean is 0.0397 ms.
    add(37);
    expect([counts(link), dispatcher.waiting]).toEqual([[4, 0], 37]);
    add(1);
    expect([counts(link), dispatcher.waiting]).toEqual([[4, 32], 6]);
  });

  it('are added at a thread as long as it has 3 ms of work or less', async () => {
    const link = await connected(1);
    for (let count = 0; count < 16; count += 1) {
      const [one] = add(1);
      if (one !== undefined) answer(link, one, 0);
    }
    // (15/16)^16 = 0.356 ms.
    add(20);
    expect(counts(link)).toEqual([9]);
  });

  it('wait in their order while there is no host', async () => {
    add(3);
    expect([dispatcher.waiting, dispatcher.connected]).toEqual([3, false]);
    const link = await connected(1);
    expect(atThreads(link)).toEqual([[1, 2, 3]]);
    expect([dispatcher.waiting, dispatcher.connected]).toEqual([0, true]);
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
  ])('that make keys are never at all threads at once, but where there is one: of %i', async (threads, atOnce) => {
    const link = await connected(threads);
    add(threads + 1, { slow: true });
    expect(counts(link).filter((count) => count === 1).length).toBe(atOnce);
    expect(dispatcher.waiting).toBe(threads + 1 - atOnce);
  });

  it('do not wait behind the creation of a key, and keys are created by the thread with the fewest requests', async () => {
    const link = await connected(2);
    add(1);
    add(1, { slow: true });
    expect(atThreads(link)).toEqual([[1], [2]]);
    add(5);
    expect(atThreads(link)).toEqual([[1, 3, 4, 5], [2]]);
    expect(dispatcher.waiting).toBe(2);
    const others = add(1, { slow: true });
    expect(others[0]?.settled).toEqual([]);
    expect(dispatcher.waiting).toBe(3);
  });

  it('go on when a key is made', async () => {
    const asked = Promise.withResolvers<void>();
    const link = await connected(1);
    host.asked = ({ id }, thread) => {
      if (id === 1) thread.write(encodeAnswer(id, statuses.ok, 400_000, Buffer.alloc(0)));
      else asked.resolve();
    };
    const [key] = add(1, { slow: true, operation: 'createKey' });
    const [next] = add(1);
    expect([atThreads(link), dispatcher.waiting]).toEqual([[[1]], 1]);
    await asked.promise;
    expect([atThreads(link), dispatcher.waiting]).toEqual([[[2]], 0]);
    expect([key?.settled.length, next?.settled.length]).toEqual([1, 0]);
  });

  it('are told of with their wait and what the token took', async () => {
    const link = await connected(1);
    const [one, other] = add(2);
    if (one === undefined || other === undefined) throw new Error('two requests');
    vi.advanceTimersByTime(50);
    answer(link, one, 20_000, statuses.wrongSecret);
    expect(observed).toEqual([['sign', statuses.wrongSecret, 30, 20]]);
    answer(link, other, 70_000);
    expect(observed[1]).toEqual(['sign', statuses.ok, 0, 70]);
  });
});

describe('requests of several tenants', () => {
  const [crowd, crowdsOther, alone] = [
    { tenant: 'crowd', client: 'one' },
    { tenant: 'crowd', client: 'other' },
    { tenant: 'alone', client: 'one' },
  ];

  /** Answers what is at the only thread until nothing waits, and returns the numbers in the order in which they went. */
  function drained(link: HostLink, all: readonly TokenRequest[], tokenMicroseconds: (one: TokenRequest) => number): number[] {
    const gone: number[] = [];
    const byId = new Map(all.map((one) => [one.id, one]));
    for (let [next] = atThreads(link)[0] ?? []; next !== undefined; [next] = atThreads(link)[0] ?? []) {
      gone.push(next);
      const one = byId.get(next);
      if (one === undefined) throw new Error('a request that is not of this test');
      answer(link, one, tokenMicroseconds(one));
    }
    return gone;
  }

  it('go in turns, and so do those of the clients of one tenant', async () => {
    const link = await connected(1);
    const before = add(4, { sender: crowd });
    const many = add(6, { sender: crowd });
    const few = add(2, { sender: crowdsOther });
    const single = add(2, { sender: alone });
    const order = drained(link, [...before, ...many, ...few, ...single], () => 1000);
    // The last to come is served next, after what the thread has.
    expect(order).toEqual([1, 2, 3, 4, 13, 11, 14, 5, 12, 6, 7, 8, 9, 10]);
  });

  it('share the time of the token, not the number of requests', async () => {
    const link = await connected(1);
    const long = add(12, { sender: crowd });
    const short = add(12, { sender: alone });
    const order = drained(link, [...long, ...short], (one) => (one.sender === crowd ? 4000 : 1000));
    // By the time at which the short ones are made, they took 12 ms; of the long ones, of 4 ms each, few have gone.
    expect(order.slice(0, order.indexOf(24)).filter((id) => id <= 12).length).toBeLessThanOrEqual(8);
    expect(order).toHaveLength(24);
  });

  it.each([
    ['another tenant', alone],
    ['another client of the tenant', crowdsOther],
    ['the service itself', undefined],
  ])('are accepted from %s, while the queue is full for one that has filled it', async (_, other) => {
    host = await new PlayedHost(1).listen();
    dispatcher = dispatcherWith({ queueMaxRequests: 10 });
    add(10, { sender: crowd });
    expect(() => add(1, { sender: crowd })).toThrow(TokenBusy);
    expect([dispatcher.busySeconds(crowd), dispatcher.busySeconds(other)]).toEqual([1, undefined]);
    add(5, { sender: other });
    expect(() => add(1, { sender: other })).toThrow(TokenBusy);
    expect(dispatcher.waiting).toBe(15);
  });

  it('are accepted where they belong to a request that has begun', async () => {
    host = await new PlayedHost(1).listen();
    dispatcher = dispatcherWith({ queueMaxRequests: 3 });
    add(3, { sender: crowd });
    add(1, { sender: crowd, continues: true });
    expect(dispatcher.waiting).toBe(4);
  });

  it('count with what continues them: a request of 300 ms fills the queue as three of 100 ms do', async () => {
    dispatcher = dispatcherWith({ queueMaxRequests: 1000 });
    const link = await connected(1);
    for (let count = 0; count < 200; count += 1) {
      for (const continues of [false, true, true]) {
        const [one] = add(1, { sender: crowd, continues });
        if (one !== undefined) answer(link, one, 100_000);
      }
    }
    // Two are at the thread, and 8 s of the deadline are 26 of 300 ms.
    add(2 + 26, { sender: crowd });
    expect(dispatcher.busySeconds(crowd)).toBeUndefined();
    add(1, { sender: crowd });
    expect(dispatcher.busySeconds(crowd)).toBe(5);
  });

  it('are those of a token that is shared, until ten seconds after the last change from one to another', async () => {
    await connected(1);
    add(1, { sender: crowd });
    vi.advanceTimersByTime(10_000);
    add(1, { sender: crowd });
    expect(dispatcher.isShared).toBe(false);
    add(1, { sender: crowdsOther });
    vi.advanceTimersByTime(9999);
    expect(dispatcher.isShared).toBe(true);
    vi.advanceTimersByTime(1);
    expect(dispatcher.isShared).toBe(false);
    add(1);
    expect(dispatcher.isShared).toBe(true);
  });

  it('hold a thread for no longer than another one waits: of what takes long, two are at a thread', async () => {
    const link = await connected(2);
    add(10, { sender: crowd, expectedMs: 20 });
    expect(counts(link)).toEqual([2, 2]);
    add(1, { sender: alone });
    const [first] = link.threads[0]?.pending.values() ?? [];
    if (first === undefined) throw new Error('a request at the thread');
    answer(link, first, 20_000);
    expect(atThreads(link)[0]).toEqual([3, 11]);
  });
});

describe('a queue', () => {
  const busyAfter = (count: number, changes: Partial<TokenRequest> = {}): unknown => {
    add(count, changes);
    try {
      add(1, changes);
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it('accepts requests up to its limit, and states when to retry', async () => {
    host = await new PlayedHost(1).listen();
    dispatcher = dispatcherWith({ queueMaxRequests: 3 });
    add(2);
    expect(dispatcher.busySeconds(undefined)).toBeUndefined();
    const busy = busyAfter(1);
    expect(busy).toBeInstanceOf(TokenBusy);
    expect(busy).toMatchObject({ nothingDone: true, retryAfterSeconds: 1 });
    expect([dispatcher.waiting, dispatcher.busySeconds(undefined)]).toEqual([3, 1]);
    // Keys have a queue of their own.
    expect(busyAfter(3, { slow: true })).toMatchObject({ retryAfterSeconds: 1 });
    expect(dispatcher.waiting).toBe(6);
  });

  it('is full where the wait would take four fifths of the deadline: keys are reckoned with half a second', async () => {
    host = await new PlayedHost(1).listen();
    // 16 take 8 seconds; half of 17 of them are made in 5.
    expect(busyAfter(17, { slow: true })).toMatchObject({ retryAfterSeconds: 5 });
    expect([dispatcher.waiting, dispatcher.busySeconds(undefined)]).toEqual([17, undefined]);
  });

  it('is longer where more threads make keys', async () => {
    const link = await connected(3);
    // Two are being made, and 33 wait for two threads.
    expect(busyAfter(2 + 33, { slow: true })).toMatchObject({ retryAfterSeconds: 5 });
    expect([counts(link), dispatcher.waiting]).toEqual([[1, 1, 0], 33]);
  });

  it('goes by what the last requests took', async () => {
    dispatcher = dispatcherWith({ queueMaxRequests: 1000 });
    const link = await connected(2);
    const [one] = add(1);
    if (one === undefined) throw new Error('one request');
    // A sixteenth of 16,001 ms, and of 1 ms the rest: 1001 ms.
    answer(link, one, 16_001_000);
    add(4);
    expect([counts(link), dispatcher.busySeconds(undefined)]).toEqual([[2, 2], undefined]);
    add(15);
    expect(dispatcher.busySeconds(undefined)).toBeUndefined();
    add(1);
    expect(dispatcher.busySeconds(undefined)).toBe(5);
    expect(() => add(1)).toThrow(TokenBusy);
  });
});

describe('a host that is away', () => {
  beforeEach(async () => {
    host = await new PlayedHost(1).listen();
  });

  it('is waited for as long as an outage may last, and those who wait are told then', () => {
    const [one] = add(1);
    vi.advanceTimersByTime(limits.outageMs);
    const [other] = add(1);
    expect([one?.failed, other?.failed]).toEqual([[], []]);
    vi.advanceTimersByTime(sweepMs);
    for (const each of [one, other]) expect(each?.failed).toEqual([new TokenUnavailable('the token host has been down for too long')]);
    expect(dispatcher.waiting).toBe(0);
    const refused = (): unknown => add(1);
    expect(refused).toThrow(TokenUnavailable);
    expect(refused).toThrow(expect.objectContaining({ nothingDone: true }));
  });

  it('is away from the moment at which its connection ended', async () => {
    const link = await connected(1);
    vi.advanceTimersByTime(limits.outageMs * 2);
    dispatcher.disconnect([]);
    link.close();
    add(1);
    vi.advanceTimersByTime(limits.outageMs);
    expect(dispatcher.waiting).toBe(1);
    vi.advanceTimersByTime(sweepMs);
    expect(dispatcher.waiting).toBe(0);
  });
});

describe('requests that no answer comes to', () => {
  it('are sent once more to the next host, before those that wait, in their order; a key is not made twice', async () => {
    const first = await connected(1);
    const sent = add(3);
    const [key] = add(1, { repeatable: false });
    const waiting = add(2);
    expect(atThreads(first)).toEqual([[1, 2, 3, 4]]);
    first.close();
    dispatcher.disconnect(await first.ended);
    expect(key?.failed).toEqual([new TokenUnavailable(ended)]);
    expect([dispatcher.waiting, dispatcher.connected]).toEqual([5, false]);
    await host.remove();
    const second = await linkTo(1);
    dispatcher.connect(second);
    expect(atThreads(second)).toEqual([[1, 2, 3, 5]]);
    second.close();
    dispatcher.disconnect(await second.ended);
    for (const one of sent) expect(one.failed).toEqual([new TokenUnavailable(ended)]);
    for (const one of waiting) expect(one.failed).toEqual([]);
    expect(dispatcher.waiting).toBe(2);
  });

  it('fail at their deadline, at a thread or in the queue', async () => {
    const link = await connected(1);
    const now = performance.now();
    const soon = { deadlineMs: now + 5 * sweepMs };
    const [atThread] = add(1, soon);
    add(3);
    const [inQueue, later] = [add(1, { ...soon, operation: 'verifyProof' })[0], add(1)[0]];
    const [, key] = add(2, { ...soon, slow: true, operation: 'createKey' });
    // The first key is made at once, whatever else the thread has.
    expect(counts(link)).toEqual([5]);
    vi.advanceTimersByTime(4 * sweepMs);
    expect(dispatcher.waiting).toBe(3);
    vi.advanceTimersByTime(sweepMs);
    expect(atThread?.failed).toEqual([new TokenUnavailable('the token did not answer sign in time')]);
    expect(inQueue?.failed).toEqual([new TokenUnavailable('the token did not answer verifyProof in time')]);
    expect(key?.failed).toEqual([new TokenUnavailable('the token did not answer createKey in time')]);
    expect([later?.failed, dispatcher.waiting]).toEqual([[], 1]);
  });

  it('fail when the service stops, and nothing is looked for any more', async () => {
    await connected(1);
    const all = [...add(5), ...add(2, { slow: true })];
    dispatcher.close();
    expect(dispatcher.waiting).toBe(0);
    expect(all.filter(({ failed }) => failed.length === 1).map(({ id }) => id)).toEqual([5, 7]);
    expect(all[4]?.failed).toEqual([new TokenUnavailable('the service is shutting down')]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('end the connection to a host that is silent for longer than its own deadline and three seconds', async () => {
    const link = await connected(1);
    // A millisecond before it is looked at the next time.
    vi.advanceTimersByTime(60_000 + sweepMs - 1);
    add(1, { deadlineMs: Infinity });
    vi.advanceTimersByTime(limits.deadlineMs + 3000);
    expect(link.closed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(link.closed).toBe(true);
  });

  it('leave a host alone that has nothing to answer', async () => {
    const link = await connected(1);
    vi.advanceTimersByTime(600_000);
    expect(link.closed).toBe(false);
  });
});

describe('an answer that is a fault of PKCS #11', () => {
  it('that requires another host replaces it, and the request is sent once more to the next one', async () => {
    const first = await connected(1);
    const [one, key, other] = [add(1)[0], add(1, { repeatable: false })[0], add(1)[0]];
    if (one === undefined || key === undefined || other === undefined) throw new Error('three requests');
    answer(first, one, 10, statuses.lost, faultBody(0x30));
    expect([one.settled, one.failed, dispatcher.waiting, first.closed]).toEqual([[], [], 1, false]);
    expect([first.draining, dispatcher.connected]).toEqual([true, false]);
    answer(first, key, 10, statuses.lost, faultBody(0x31));
    expect(key.failed).toEqual([new TokenUnavailable('PKCS#11 0x31: fault')]);
    answer(first, other);
    expect([other.settled.length, first.closed]).toEqual([1, true]);
    dispatcher.disconnect(await first.ended);
    await host.remove();
    const second = await connected(1);
    expect(atThreads(second)).toEqual([[one.id]]);
    answer(second, one, 10, statuses.lost, faultBody(0x30));
    expect(one.failed).toEqual([new TokenUnavailable('PKCS#11 0x30: fault')]);
  });

  it('is passed to the caller if the host is still usable, also if it only looks like a fault', async () => {
    const link = await connected(1);
    const [one, other] = add(2);
    if (one === undefined || other === undefined) throw new Error('two requests');
    answer(link, one, 10, statuses.fault, faultBody(0x70));
    answer(link, other, 10, statuses.ok, faultBody(0x30));
    expect([one.settled.length, other.settled.length, link.draining]).toEqual([1, 1, false]);
  });
});

describe('a host that announces its end', () => {
  it('is replaced immediately if it has no pending requests', async () => {
    const link = await connected(1);
    dispatcher.drain(link);
    expect([link.draining, link.closed, dispatcher.connected]).toEqual([true, true, false]);
  });

  it('answers its pending requests, gets no new ones, and is then replaced', async () => {
    const link = await connected(2);
    const [one, other] = add(2);
    if (one === undefined || other === undefined) throw new Error('two requests');
    dispatcher.drain(link);
    add(1);
    expect([atThreads(link), dispatcher.waiting, link.closed]).toEqual([[[1], [2]], 1, false]);
    answer(link, one);
    expect([atThreads(link), dispatcher.waiting, link.closed]).toEqual([[[], [2]], 1, false]);
    answer(link, other);
    expect([dispatcher.waiting, link.closed]).toEqual([1, true]);
  });
});
