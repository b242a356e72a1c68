import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { startSockets } from '../../src/daemon/start-sockets.ts';

let taken: Server;
let port: number;

beforeEach(async () => {
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  ({ port } = taken.address() as AddressInfo);
});

afterEach(() => {
  vi.unstubAllEnvs();
  taken.close();
});

function listeners(api: number, others: object = {}, admin: object = {}): Pick<Config, 'listeners' | 'admin'> {
  const operations = { host: '127.0.0.1', port: 0 };
  return {
    listeners: { api: { host: '127.0.0.1', port: api }, operations, ...others },
    admin: { socketPath: join(tmpdir(), 'admin.sock'), approvals: 1, ...admin },
  } as unknown as Pick<Config, 'listeners' | 'admin'>;
}

/** As systemd passes them. Descriptors are not looked at before a server listens on them. */
function pass(names: string): void {
  vi.stubEnv('LISTEN_PID', String(process.pid));
  vi.stubEnv('LISTEN_FDS', String(names.split(':').length));
  vi.stubEnv('LISTEN_FDNAMES', names);
}

describe('the sockets of a start', () => {
  it('are none where each address is free, and they stay free', async () => {
    expect((await startSockets('/etc/signetd/signetd.yaml', listeners(0))).size).toBe(0);
    expect((await startSockets('/etc/signetd/signetd.yaml', listeners(0))).size).toBe(0);
  });

  it('are refused for an address that is taken, which may become free', async () => {
    const refused = startSockets('/etc/signetd/signetd.yaml', listeners(port));
    await expect(refused).rejects.toThrow(`listeners.api: 127.0.0.1:${port}: another process listens there`);
    await expect(refused).rejects.not.toBeInstanceOf(ConfigError);
  });

  it('are refused for an address that the machine does not have yet', async () => {
    const elsewhere = { public: { host: '192.0.2.1', port: 8080 } };
    await expect(startSockets('/etc/signetd/signetd.yaml', listeners(0, elsewhere))).rejects.toThrow(
      'listeners.public: 192.0.2.1:8080: nobody can listen there (EADDRNOTAVAIL)',
    );
  });

  it('are those of systemd, whose addresses are not tried', async () => {
    pass('api');
    expect([...(await startSockets('/etc/signetd/signetd.yaml', listeners(port)))]).toEqual([['api', 3]]);
  });

  it('are a fault of the configuration where systemd passes one that is not configured', async () => {
    pass('api:public');
    const refused = startSockets('/etc/signetd/signetd.yaml', listeners(port));
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
    await expect(refused).rejects.toThrow('a socket is named "public"');
  });

  it('need no network where a listener has a path', async () => {
    expect(
      (
        await startSockets(
          '/etc/signetd/signetd.yaml',
          listeners(0, { operations: { host: '127.0.0.1', port, socketPath: join(tmpdir(), 'ops.sock') } }),
        )
      ).size,
    ).toBe(0);
  });

  it.each([
    ['listeners.operations.socketPath', listeners(0, { operations: { host: '127.0.0.1', port: 0, socketPath: '/nowhere/ops.sock' } })],
    ['admin.socketPath', listeners(0, {}, { socketPath: '/nowhere/admin.sock' })],
    ['admin.approvalSocketPath', listeners(0, {}, { approvals: 2, approvalSocketPath: '/nowhere/approvals.sock' })],
  ])('are refused for %s in a directory that is not there, which may come', async (member, config) => {
    const refused = startSockets('/etc/signetd/signetd.yaml', config);
    await expect(refused).rejects.toThrow(`${member}: no socket can be made in this directory: ENOENT`);
    await expect(refused).rejects.not.toBeInstanceOf(ConfigError);
  });

  it('need no directory for approvals where no command needs one', async () => {
    const config = listeners(0, {}, { approvalSocketPath: '/nowhere/approvals.sock' });
    expect((await startSockets('/etc/signetd/signetd.yaml', config)).size).toBe(0);
  });
});
