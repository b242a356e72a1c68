import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listenFds } from '../../src/service/listen-fds.ts';

const names = ['api', 'operations', 'public'];

describe('the sockets that a service manager hands over', () => {
  it('are known by their names, in the order of their descriptors, which begin at 3', () => {
    const environment = { LISTEN_PID: '42', LISTEN_FDS: '2', LISTEN_FDNAMES: 'operations:api' };
    expect([...listenFds(environment, 42, names)]).toEqual([
      ['operations', 3],
      ['api', 4],
    ]);
  });

  it('are not taken from variables that are meant for another process', () => {
    expect(listenFds({ LISTEN_PID: '41', LISTEN_FDS: '1', LISTEN_FDNAMES: 'api' }, 42, names).size).toBe(0);
    expect(listenFds({ LISTEN_FDS: '1', LISTEN_FDNAMES: 'api' }, 42, names).size).toBe(0);
  });

  it('may be none', () => {
    expect(listenFds({}, 42, names).size).toBe(0);
    expect(listenFds({ LISTEN_PID: '42', LISTEN_FDS: '0' }, 42, names).size).toBe(0);
  });

  it('are no more in the environment afterwards, so that no child takes them for its own', () => {
    const environment = { LISTEN_PID: '42', LISTEN_FDS: '1', LISTEN_FDNAMES: 'api', OTHER: 'stays' };
    listenFds(environment, 42, names);
    expect(environment).toEqual({ OTHER: 'stays' });
  });

  it.each([
    [
      'a name that is none of ours',
      { LISTEN_FDS: '1', LISTEN_FDNAMES: 'signetd-api.socket' },
      /has only listeners.api, listeners.operations, listeners.public: disable/,
    ],
    ['a socket without a name', { LISTEN_FDS: '2', LISTEN_FDNAMES: 'api' }, /names 1 of 2 sockets/],
    ['no names at all', { LISTEN_FDS: '1' }, /names 0 of 1 sockets/],
    ['one name twice', { LISTEN_FDS: '2', LISTEN_FDNAMES: 'api:api' }, /two sockets are named "api"/],
    ['a number that is none', { LISTEN_FDS: '-1', LISTEN_FDNAMES: 'api' }, /it must be a number from 0 to 64/],
    ['more than there can be', { LISTEN_FDS: '65', LISTEN_FDNAMES: 'api' }, /it must be a number from 0 to 64/],
  ])('are refused with %s', (_what, environment, message) => {
    expect(() => listenFds({ LISTEN_PID: '42', ...environment }, 42, names)).toThrow(message);
  });

  it('are each a different descriptor from 3 on, or refused, whatever the variables hold', () => {
    const value = fc.option(fc.oneof(fc.string(), fc.integer().map(String), fc.constantFrom('api:public', 'api', '', '42')), {
      nil: undefined,
    });
    fc.assert(
      fc.property(value, value, value, (pid, count, given) => {
        let sockets;
        try {
          sockets = listenFds({ LISTEN_PID: pid, LISTEN_FDS: count, LISTEN_FDNAMES: given }, 42, names);
        } catch (error) {
          return error instanceof Error && error.message !== '';
        }
        const descriptors = [...sockets.values()];
        return (
          descriptors.every((descriptor, index) => descriptor === 3 + index) &&
          [...sockets.keys()].every((name) => names.includes(name)) &&
          (sockets.size === 0 || (pid === '42' && count === String(sockets.size)))
        );
      }),
    );
  });
});
