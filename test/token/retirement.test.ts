import { EventEmitter } from 'node:events';
import { Server, Socket } from 'node:net';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Retirement } from '../../src/token/host/retirement.ts';

describe('the orderly end of a host', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as () => never);
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  let callStarts: Int32Array;
  let retirement: Retirement;

  beforeEach(() => {
    vi.useFakeTimers();
    exit.mockClear();
    kill.mockClear();
    callStarts = new Int32Array(new SharedArrayBuffer(8));
    retirement = new Retirement(callStarts);
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(() => {
    exit.mockRestore();
    kill.mockRestore();
  });

  /** A connection to the greeting socket, with what was written to it. */
  function peer(): { readonly written: string[]; readonly resumed: ReturnType<typeof vi.fn>; leave: () => void } {
    const socket = new Socket();
    const written: string[] = [];
    vi.spyOn(socket, 'write').mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
    const resumed = vi.spyOn(socket, 'resume').mockReturnThis();
    retirement.peer(socket);
    return { written, resumed, leave: () => void EventEmitter.prototype.emit.call(socket, 'close') };
  }

  it('is immediate if nobody is connected', () => {
    const listener = new Server();
    const close = vi.spyOn(listener, 'close').mockReturnThis();
    retirement.listener = listener;
    expect(exit).not.toHaveBeenCalled();
    retirement.begin('a reason', 1000);
    expect(close).toHaveBeenCalledOnce();
    expect(exit.mock.calls).toEqual([[0]]);
    expect(kill).not.toHaveBeenCalled();
  });

  it('waits for those who are there, who are told once', () => {
    const [one, other] = [peer(), peer()];
    expect(one.resumed).toHaveBeenCalledOnce();
    retirement.begin('a reason', 1000);
    retirement.begin('another', 1);
    expect([one.written, other.written]).toEqual([['{"draining":"a reason"}\n'], ['{"draining":"a reason"}\n']]);
    one.leave();
    vi.advanceTimersByTime(999);
    expect(exit).not.toHaveBeenCalled();
    other.leave();
    expect(exit.mock.calls).toEqual([[0]]);
  });

  it('comes when the grace period is over, whoever is connected', () => {
    peer();
    retirement.begin('a reason', 1000);
    vi.advanceTimersByTime(999);
    expect(exit).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(exit.mock.calls).toEqual([[0]]);
  });

  it('does not happen if the last client leaves before it has begun', () => {
    peer().leave();
    expect(exit).not.toHaveBeenCalled();
    expect(kill).not.toHaveBeenCalled();
  });

  it.each([0, 1])('is a kill while thread %i is inside a call, which may never come back', (thread) => {
    callStarts[thread] = 5;
    retirement.begin('a reason', 1000);
    expect(kill.mock.calls).toEqual([[process.pid, 'SIGKILL']]);
    expect(exit).not.toHaveBeenCalled();
  });
});
