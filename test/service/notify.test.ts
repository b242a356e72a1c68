import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceManager, type ServiceManager } from '../../src/service/service-manager.ts';
import { native } from '../../src/service/native.ts';
import { SupervisingProcess } from '../support/service-manager.ts';

/** The receiving end is Python's: an AF_UNIX datagram socket whose messages carry what the kernel says of their sender. */
describe.each([
  ['a file', false],
  ['an abstract name', true],
])('messages to a service manager whose socket is %s', (_where, abstract) => {
  let receiver: SupervisingProcess;
  let path: string;
  let faults: string[];
  let manager: ServiceManager;

  beforeAll(async () => {
    // The service is a shell that only says where the socket is.
    receiver = new SupervisingProcess({ command: ['sh', '-c', 'printf "%s\n" "$NOTIFY_SOCKET" >&2'], abstract });
    receiver.tell('start');
    await receiver.until(({ event }) => event === 'ended');
    await receiver.wrote('\n');
    path = receiver.output.trim();
    faults = [];
    manager = serviceManager({ NOTIFY_SOCKET: path, WATCHDOG_USEC: '3000000' }, process.pid, (reason) => faults.push(reason));
  });

  afterAll(async () => receiver.close());

  async function nextMessage(send: () => void): Promise<{ pid: number; text: string }> {
    const from = receiver.events.length;
    send();
    const event = await receiver.until((candidate) => candidate.event === 'message', from);
    if (event.event !== 'message') throw new Error('no message');
    return event;
  }

  it('come from this very process, as NotifyAccess=main demands', async () => {
    const { pid, text } = await nextMessage(() => {
      manager.ready('serving');
    });
    expect([pid, text]).toEqual([process.pid, 'READY=1\nSTATUS=serving']);
  });

  it('tell of a reload with the monotonic time, in microseconds', async () => {
    const before = process.hrtime.bigint() / 1000n;
    const { text } = await nextMessage(() => {
      manager.reloading('reading');
    });
    const [, microseconds = ''] = /^RELOADING=1\nMONOTONIC_USEC=(\d+)\nSTATUS=reading$/.exec(text) ?? [];
    expect(BigInt(microseconds)).toBeGreaterThanOrEqual(before);
    expect(BigInt(microseconds)).toBeLessThanOrEqual(process.hrtime.bigint() / 1000n);
  });

  it('tell that the service is alive', async () => {
    expect(manager.watchdogMs).toBe(3000);
    const { text } = await nextMessage(() => {
      manager.alive();
    });
    expect(text).toBe('WATCHDOG=1');
  });

  it.each<[string, (to: ServiceManager) => void, string]>([
    [
      'tell of a stop and the time that it takes',
      (to) => {
        to.stopping('answering', 30.5);
      },
      'STOPPING=1\nEXTEND_TIMEOUT_USEC=30500000\nSTATUS=answering',
    ],
    [
      'are one line a status, whatever is in it',
      (to) => {
        to.status('a fault\nREADY=1\r\n é');
      },
      'STATUS=a fault READY=1 é',
    ],
  ])('%s', async (_name, send, message) => {
    const { text } = await nextMessage(() => {
      send(manager);
    });
    expect(text).toBe(message);
  });

  it('cost next to nothing', async () => {
    // No more than the socket queues: the receiver tells this process, which is busy sending.
    const count = 5;
    const from = receiver.events.length;
    const begun = performance.now();
    for (let index = 0; index < count; index += 1) manager.alive();
    const eachMs = (performance.now() - begun) / count;
    const alive = (): number =>
      receiver.events.slice(from).filter((event) => event.event === 'message' && event.text === 'WATCHDOG=1').length;
    await receiver.until(() => alive() === count);
    // 0.02 ms on a quiet machine, where a child process for each message takes 5 ms.
    expect(eachMs).toBeLessThan(5);
    expect(faults).toEqual([]);
  });
});

describe('a service manager', () => {
  it('that is not there is told nothing', () => {
    const faults: string[] = [];
    const manager = serviceManager({}, process.pid, (reason) => faults.push(reason));
    manager.ready('serving');
    manager.alive();
    expect([manager.watchdogMs, faults]).toEqual([undefined, []]);
  });

  it('that has gone away is a fault to be logged, and no other', () => {
    const faults: string[] = [];
    const manager = serviceManager({ NOTIFY_SOCKET: '/nowhere/notify' }, process.pid, (reason) => faults.push(reason));
    manager.ready('serving');
    expect(faults).toEqual(['No such file or directory']);
  });

  it.each([
    ['another process', { WATCHDOG_USEC: '1000000', WATCHDOG_PID: '1' }],
    ['no time', { WATCHDOG_USEC: '0' }],
    ['no number', { WATCHDOG_USEC: 'soon' }],
    ['nobody', {}],
  ])('wants no sign of life where its watchdog is for %s', (_whom, environment) => {
    expect(serviceManager({ NOTIFY_SOCKET: '@x', ...environment }, process.pid, () => undefined).watchdogMs).toBeUndefined();
  });

  it('is not told about to children of this process', () => {
    const environment = { NOTIFY_SOCKET: '@x', WATCHDOG_USEC: '1', WATCHDOG_PID: '1', OTHER: 'stays' };
    serviceManager(environment, process.pid, () => undefined);
    expect(environment).toEqual({ OTHER: 'stays' });
  });
});

describe('the native link', () => {
  it.each([
    ['a relative path', 'notify', 'x', /Address family not supported/],
    ['a path that no socket can have', `/${'x'.repeat(200)}`, 'x', /File name too long/],
    ['a message that no datagram takes', '/nowhere', 'x'.repeat(5000), /Message too long/],
  ])('refuses %s', (_what, path, message, error) => {
    expect(() => {
      native().send(path, message);
    }).toThrow(error);
  });

  it('refuses a descriptor that is none', () => {
    expect(() => {
      native().closeOnExec(9999);
    }).toThrow('Bad file descriptor');
  });
});
