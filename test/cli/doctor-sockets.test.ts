import { describe, expect, it } from 'vitest';
import { sockets, type SocketUnits } from '../../src/cli/doctor/sockets.ts';
import type { Config } from '../../src/config/config.ts';

const active = (port: number): Record<string, string> => ({
  ...{ LoadState: 'loaded', ActiveState: 'active', UnitFileState: 'enabled' },
  Listen: `[::]:${port} (Stream)`,
});
const off = (port: number): Record<string, string> => ({ ...active(port), ActiveState: 'inactive', UnitFileState: 'disabled' });
const isolated = { LoadState: 'loaded', PrivateNetwork: 'yes', RestrictAddressFamilies: 'AF_UNIX' };
const installed: SocketUnits = { service: isolated, sockets: { api: active(8443), operations: active(9443), public: off(8080) } };

const withPublic = { public: { port: 8080 } };
function listeners(others: object = {}): Pick<Config, 'listeners'> {
  return { listeners: { api: { port: 8443 }, operations: { port: 9443 }, ...others } } as unknown as Pick<Config, 'listeners'>;
}

async function found(
  config: Pick<Config, 'listeners'>,
  units: SocketUnits | undefined,
  file = '/etc/signetd/signetd.yaml',
): Promise<string[]> {
  return (await sockets(file, config, async () => Promise.resolve(units))).map(({ state, text }) => `${state}: ${text}`);
}

describe('the socket units, compared with the listeners', () => {
  it('are not mentioned where they fit, or there are none', async () => {
    expect(await found(listeners(), installed)).toEqual([]);
    expect(await found(listeners(withPublic), { ...installed, sockets: { ...installed.sockets, public: active(8080) } })).toEqual([]);
    expect(await found(listeners(withPublic), undefined)).toEqual([]);
    expect(await found(listeners(withPublic), { ...installed, service: { LoadState: 'not-found' } })).toEqual([]);
  });

  it('are not needed to be active: signetd.service starts those of the API and of operations', async () => {
    expect(await found(listeners(), { ...installed, sockets: { ...installed.sockets, api: off(8443), operations: off(9443) } })).toEqual(
      [],
    );
  });

  it('are a fault where a listener has none, with the commands', async () => {
    expect(await found(listeners(withPublic), installed)).toEqual([
      'fault: listeners.public: signetd-public.socket is not enabled, and signetd.service may open no network socket: run systemctl enable signetd-public.socket, then systemctl restart signetd.service',
    ]);
  });

  it('are not needed where a drop-in gives the service a network', async () => {
    const service = { LoadState: 'loaded', PrivateNetwork: 'no', RestrictAddressFamilies: 'AF_UNIX AF_INET AF_INET6' };
    expect(await found(listeners(withPublic), { ...installed, service })).toEqual([]);
  });

  it.each([
    ['active', active(8080)],
    ['enabled', { ...active(8080), ActiveState: 'inactive' }],
  ])('are a fault where one is %s that is not configured', async (word, unit) => {
    expect(await found(listeners(), { ...installed, sockets: { ...installed.sockets, public: unit } })).toEqual([
      `fault: signetd-public.socket is ${word}, but the configuration has no listeners.public: run systemctl disable --now signetd-public.socket, then systemctl restart signetd.service`,
    ]);
  });

  it('are a fault where they are masked', async () => {
    const masked = { ...off(8443), LoadState: 'masked', UnitFileState: 'masked' };
    expect(await found(listeners(), { ...installed, sockets: { ...installed.sockets, api: masked } })).toEqual([
      'fault: listeners.api: signetd-api.socket is masked: run systemctl unmask signetd-api.socket',
    ]);
  });

  it('are those of its template for a further instance, and nobody knows them for another file', async () => {
    const noAddress = { ...off(0), LoadState: 'bad-setting' };
    const units = { ...installed, sockets: { ...installed.sockets, api: noAddress } };
    expect(await found(listeners(withPublic), units, '/etc/signetd/b.yaml')).toEqual([
      'fault: listeners.api: signetd-api@b.socket has no address: run systemctl edit signetd-api@b.socket, and set ListenStream= in the section [Socket]',
      'fault: listeners.public: signetd-public@b.socket is not enabled, and signetd@b.service may open no network socket: run systemctl enable signetd-public@b.socket, then systemctl restart signetd@b.service',
    ]);
    expect(await found(listeners(withPublic), units, '/srv/b.yaml')).toEqual([]);
  });

  it('are named where they listen elsewhere than the configuration says', async () => {
    expect(
      await found({ listeners: { ...listeners().listeners, api: { port: 9000 } } } as unknown as Pick<Config, 'listeners'>, installed),
    ).toEqual([
      'warning: signetd-api.socket listens on port 8443, and listeners.api.port is 9000: the unit decides; change one of them (systemctl edit signetd-api.socket: an empty ListenStream=, then the new one)',
    ]);
  });
});
