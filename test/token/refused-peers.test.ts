import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../../src/config/config-error.ts';
import { TokenConfig } from '../../src/config/token-config.ts';
import { admits, peersOf, RefusedPeers } from '../../src/token/host/peers.ts';
import type { peerUser } from '../../src/service/peer-user.ts';

const kernel = vi.hoisted(() => ({ user: undefined as number | undefined }));
vi.mock('../../src/service/peer-user.ts', () => ({ peerUser: (() => kernel.user) satisfies typeof peerUser }));

const config = (clientUser?: string | number): TokenConfig => TokenConfig.parse({ label: 'hsm', pin: 'credential:pin', clientUser });

describe('the user that a host serves', () => {
  it('is its own, or the one of the configuration, by the sockets for it', () => {
    expect(peersOf(config(), 998)).toEqual({ user: 998, socketMode: 0o600 });
    expect(peersOf(config(998), 998)).toEqual({ user: 998, socketMode: 0o600 });
    expect(peersOf(config(997), 998)).toEqual({ user: 997, socketMode: 0o660 });
    expect(peersOf(config('root'), 998)).toEqual({ user: 0, socketMode: 0o660 });
    expect(() => peersOf(config('nobody-of-this-name'), 998)).toThrow(
      new ConfigError('token.clientUser: there is no user "nobody-of-this-name"'),
    );
  });

  it.each([
    [998, true],
    [0, true],
    [997, false],
    [undefined, false],
  ])('%s is let in: %s', (user, isLetIn) => {
    kernel.user = user;
    const socket = new Socket();
    const refused = vi.fn<(peer: number | undefined) => void>();
    expect(admits(socket, { user: 998, socketMode: 0o600 }, refused)).toBe(isLetIn);
    expect([socket.destroyed, refused.mock.calls]).toEqual(isLetIn ? [false, []] : [true, [[user]]]);
    socket.destroy();
  });
});

describe('a user who is refused', () => {
  let said: string[];
  let peers: RefusedPeers;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    said = [];
    peers = new RefusedPeers((message) => said.push(message));
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const of = (who: string, more = ''): string =>
    `refused a connection from ${who}: only the daemon's user (token.clientUser) and root may use the token${more}`;
  const times = (count: number, user: number | undefined): void => {
    for (let n = 0; n < count; n += 1) peers.refused(user);
  };

  it('is reported immediately, and then once a minute, with the number of attempts since', () => {
    times(3, 997);
    vi.advanceTimersByTime(59_999);
    times(1, 997);
    expect(said).toEqual([of('user 997')]);
    vi.advanceTimersByTime(1);
    times(2, 997);
    expect(said).toEqual([of('user 997'), of('user 997', '; 3 more since the last message')]);
    vi.advanceTimersByTime(60_000);
    times(1, 997);
    expect(said.at(-1)).toBe(of('user 997', '; 1 more since the last message'));
    vi.advanceTimersByTime(60_000);
    times(1, 997);
    expect(said.at(-1)).toBe(of('user 997'));
  });

  it('is one of several, each of which is named', () => {
    for (const user of [997, undefined, 996, 997, undefined]) peers.refused(user);
    expect(said).toEqual([of('user 997'), of('an unknown user'), of('user 996')]);
  });

  it('is forgotten where there are more than 1,000', () => {
    for (let user = 1; user <= 1000; user += 1) peers.refused(user);
    times(1, 1);
    expect(said).toHaveLength(1000);
    peers.refused(1001);
    times(1, 1);
    expect(said.slice(1000)).toEqual([of('user 1001'), of('user 1')]);
  });
});
