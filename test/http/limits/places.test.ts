import { once } from 'node:events';
import { connect, createServer, Socket, type AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { Places, type AdmittedClient, type Place } from '../../../src/http/limits/connections/places.ts';
import { addressOf, networks, sourceOf } from '../../../src/http/limits/connections/source-address.ts';

let nowMs = 0;
let closed: string[];
beforeEach(() => {
  nowMs = 0;
  closed = [];
});

/** A connection that goes nowhere. */
function connection(from: string): Socket {
  const socket = new Socket();
  Object.defineProperties(socket, { remoteAddress: { value: from }, resetAndDestroy: { value: () => socket.destroy() } });
  return socket;
}

function placesOf(
  connectionsMax: number,
  unadmittedMax: number,
  unadmittedMaxPerAddress: number,
  shared: readonly string[] = [],
  admittedMaxPerTenant = connectionsMax,
  admittedMaxPerClient = admittedMaxPerTenant,
): Places {
  return new Places(
    {
      ...{ connectionsMax, unadmittedMax, unadmittedMaxPerAddress },
      admittedMax: () => ({ client: admittedMaxPerClient, tenant: admittedMaxPerTenant }),
      isShared: (address) => shared.includes(address),
      closed: (crowd, address) => closed.push(`${crowd} ${address}`),
    },
    () => nowMs,
  );
}

const clientOf = (tenant: string, spkiSha256 = `client of ${tenant}`): AdmittedClient => ({ spkiSha256, tenant });

function entered(places: Places, address: string): Place {
  const place = places.enter(connection(address));
  if (place === undefined) throw new Error(`${address} has no place`);
  return place;
}
const isOpen = ({ socket }: Place): boolean => !socket.destroyed;

describe('places of connections that are not admitted', () => {
  it('an address that has its share loses its own oldest connection', () => {
    const places = placesOf(100, 50, 3);
    const other = entered(places, '192.0.2.9');
    const flood = Array.from({ length: 5 }, () => entered(places, '192.0.2.1'));
    expect(flood.map(isOpen)).toEqual([false, false, true, true, true]);
    expect([isOpen(other), closed, places.unadmitted]).toEqual([true, ['address 192.0.2.1', 'address 192.0.2.1'], 4]);
  });

  it('of several addresses, the one with the most loses its oldest', () => {
    const places = placesOf(100, 6, 4);
    const [few, many] = [['192.0.2.1', '192.0.2.2'], Array.from({ length: 4 }, () => '192.0.2.3')].map((addresses) =>
      addresses.map((address) => entered(places, address)),
    );
    entered(places, '192.0.2.4');
    entered(places, '192.0.2.5');
    expect(few?.map(isOpen)).toEqual([true, true]);
    expect(many?.map(isOpen)).toEqual([false, false, true, true]);
    expect(closed).toEqual(['unadmitted 192.0.2.3', 'unadmitted 192.0.2.3']);
  });

  it('if each address has one, the oldest is replaced', () => {
    const places = placesOf(100, 3, 4);
    const all = [1, 2, 3, 4, 5].map((host) => entered(places, `192.0.2.${host}`));
    expect(all.map(isOpen)).toEqual([false, false, true, true, true]);
  });

  it('an active one is replaced after the others of its address', () => {
    const places = placesOf(100, 50, 2);
    const [first, second] = [entered(places, '192.0.2.1'), entered(places, '192.0.2.1')];
    places.touch(first);
    entered(places, '192.0.2.1');
    expect([isOpen(first), isOpen(second)]).toEqual([true, false]);
  });

  it('a place is free again when its connection ends', async () => {
    const places = placesOf(2, 1, 1);
    const one = entered(places, '192.0.2.1');
    one.socket.destroy();
    await new Promise((resolve) => one.socket.once('close', resolve));
    expect(places.unadmitted).toBe(0);
    places.admit(one, clientOf('demo'));
    places.withdraw(one);
    expect(places.unadmitted).toBe(0);
  });

  it('addresses that many share have no share', () => {
    const places = placesOf(100, 50, 2, ['192.0.2.1']);
    const all = Array.from({ length: 20 }, () => entered(places, '192.0.2.1'));
    expect(all.every(isOpen)).toBe(true);
  });
});

describe('places of clients', () => {
  it('an admitted one is never replaced', () => {
    const places = placesOf(6, 3, 3);
    const admitted = [1, 2, 3, 4].map((host) => {
      const place = entered(places, `192.0.2.${host}`);
      places.admit(place, clientOf('demo'));
      return place;
    });
    for (let host = 1; host < 100; host += 1) entered(places, `198.51.100.${host}`);
    expect(admitted.every(isOpen)).toBe(true);
    expect(places.unadmitted).toBe(2);
  });

  it('are all that there are: nobody else comes in then', () => {
    const places = placesOf(2, 1, 1);
    for (const host of [1, 2]) places.admit(entered(places, `192.0.2.${host}`), clientOf('demo'));
    expect(places.enter(connection('192.0.2.1'))).toBeUndefined();
    expect(closed).toEqual(['all 192.0.2.1']);
  });

  it('are for each tenant its share: a further connection of it is closed, and those of others come in', () => {
    const places = placesOf(4, 2, 2, [], 2);
    const admitted = (host: number, tenant: string): Place => {
      const place = entered(places, `192.0.2.${host}`);
      places.admit(place, clientOf(tenant));
      return place;
    };
    const crowd = [1, 2, 3].map((host) => admitted(host, 'crowd'));
    expect(crowd.map(isOpen)).toEqual([true, true, false]);
    expect(closed).toEqual(['tenant 192.0.2.3']);
    expect(isOpen(admitted(4, 'alone'))).toBe(true);
    const [first] = crowd;
    if (first === undefined) throw new Error('three places');
    places.withdraw(first);
    expect(isOpen(admitted(5, 'crowd'))).toBe(true);
    expect(isOpen(admitted(6, 'crowd'))).toBe(false);
  });

  it('are for each client its share, which its tenant may exceed', () => {
    const places = placesOf(10, 4, 4, [], 3, 2);
    const admitted = (host: number, client: string): Place => {
      const place = entered(places, `192.0.2.${host}`);
      places.admit(place, clientOf('demo', client));
      return place;
    };
    const first = admitted(1, 'one');
    expect([first, admitted(2, 'one'), admitted(3, 'one'), admitted(4, 'two'), admitted(5, 'two')].map(isOpen)).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect(closed).toEqual(['client 192.0.2.3', 'tenant 192.0.2.5']);
    first.socket.destroy();
    first.socket.emit('close');
    expect(isOpen(admitted(6, 'one'))).toBe(true);
  });

  it('an address from which a client was admitted has other places than strangers, for a day', () => {
    const places = placesOf(100, 3, 1);
    places.admit(entered(places, '192.0.2.1'), clientOf('demo'));
    const flood = Array.from({ length: 20 }, (_, host) => entered(places, `198.51.100.${host + 1}`));
    expect(flood.filter(isOpen)).toHaveLength(3);
    const again = [entered(places, '192.0.2.1'), entered(places, '192.0.2.1')];
    expect([again.every(isOpen), places.unadmitted]).toEqual([true, 5]);
    for (let host = 1; host < 100; host += 1) entered(places, `203.0.113.${host}`);
    expect(again.every(isOpen)).toBe(true);
    nowMs = 27 * 60 * 60 * 1000;
    const late = [entered(places, '192.0.2.1'), entered(places, '192.0.2.1')];
    expect(late.map(isOpen)).toEqual([false, true]);
  });

  it('one that is no longer admitted can be replaced', () => {
    const places = placesOf(100, 1, 1);
    const former = entered(places, '192.0.2.1');
    places.admit(former, clientOf('demo'));
    places.withdraw(former);
    entered(places, '192.0.2.1');
    expect(isOpen(former)).toBe(false);
  });
});

describe('the address that a connection counts for', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ])('of %s is %s', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });

  it('is recorded and logged as that of IPv4 where a socket for IPv6 took the connection', async () => {
    const server = createServer().listen(0, '::');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    expect([socket.remoteAddress, addressOf(socket)]).toEqual(['::ffff:127.0.0.1', '127.0.0.1']);
    for (const end of [client, socket]) end.destroy();
    server.close();
    expect(['::1', '::ffff:0:1', '2001:db8::1', undefined].map((remoteAddress) => addressOf({ remoteAddress }))).toEqual([
      ...['::1', '::ffff:0:1', '2001:db8::1', undefined],
    ]);
  });

  it('is in a network of IPv4 in both forms, and in one of IPv6', () => {
    const some = networks(['192.0.2.0/24', '2001:db8::/32', 'fe80::/64']);
    expect(['192.0.2.7', '::ffff:192.0.2.7', '2001:db8:9::1', 'fe80::1%eth0'].every((address) => some.has(address))).toBe(true);
    expect(['198.51.100.1', '::1', ''].some((address) => some.has(address))).toBe(false);
  });
});
