import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { OutgoingConfig } from '../../src/config/outgoing-config.ts';
import { FetchFailed, OutgoingHttp, type OutgoingSettings } from '../../src/outgoing/outgoing-http.ts';
import { isPublicAddress, Networks } from '../../src/outgoing/special-addresses.ts';
import { httpUrl, UrlRefused } from '../../src/outgoing/url-rules.ts';

const loopback = ['127.0.0.0/8', '::1/128'];
const settings: OutgoingSettings = { clientHosts: [], privateNetworks: loopback, timeoutSeconds: 1, connectionsMax: 4 };
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function served(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
const get = async (url: string, over: Partial<OutgoingSettings> = {}): Promise<string> => {
  const answer = await new OutgoingHttp({ ...settings, ...over }).fetch({ url: httpUrl(url), method: 'GET', answerMaxBytes: 1000 });
  return Buffer.from(answer.body).toString();
};

describe('an exchange', () => {
  test('returns the body of an accepted answer', async () => {
    const url = await served((_request, response) => response.end('good'));
    expect(await get(url)).toBe('good');
    expect(await get(url.replace('127.0.0.1', 'localhost'))).toBe('good');
  });

  test.each<[string, RequestListener, RegExp]>([
    ['status', (_q, r) => void r.writeHead(500).end('x'), /status 500/],
    ['redirect', (_q, r) => void r.writeHead(302, { Location: 'http://169.254.169.254/' }).end(), /status 302/],
    ['endless body', (_q, r) => void (r.write('x'.repeat(600)), r.write('x'.repeat(600))), /more than 1000 bytes/],
    ['silence', () => undefined, /no answer within 1 s/],
    ['slow drip', (_q, r) => void setInterval(() => r.write('x'), 50).unref(), /no answer within 1 s/],
    ['cut', (_q, r) => void (r.writeHead(200, { 'Content-Length': 10 }), r.write('x'), setTimeout(() => r.destroy(), 20)), /no connection/],
  ])('fails: %s', async (_name, listener, reason) => {
    const url = await served(listener);
    await expect(get(url)).rejects.toThrow(reason);
    await expect(get(url)).rejects.toThrow(FetchFailed);
  });

  test('does not wait for the names of another tenant', async () => {
    const url = await served((_request, response) => response.end('good'));
    const begun: string[] = [];
    const slow = async (hostname: string): Promise<string[]> => {
      begun.push(hostname);
      return hostname === 'quick.test' ? ['127.0.0.1'] : new Promise(() => undefined);
    };
    const http = new OutgoingHttp(settings, slow);
    const asked = (host: string) => ({ url: httpUrl(url.replace('127.0.0.1', host)), method: 'GET' as const, answerMaxBytes: 10 });
    const others = [1, 2, 3].map(async (index) => http.ofTenant('a').fetch(asked(`slow-${index}.test`)));
    const answer = await http.ofTenant('b').fetch(asked('quick.test'));
    expect(Buffer.from(answer.body).toString()).toBe('good');
    for (const one of await Promise.allSettled(others)) expect(one.status).toBe('rejected');
    expect(begun).toEqual(['slow-1.test', 'quick.test']);
  });

  test('waits for its turn no longer than its own time', async () => {
    const url = await served(() => undefined);
    const http = new OutgoingHttp({ ...settings, connectionsMax: 1 });
    const all = [1, 2, 3].map(async () => http.fetch({ url: httpUrl(url), method: 'GET', answerMaxBytes: 10 }));
    for (const one of await Promise.allSettled(all))
      expect(one).toMatchObject({ status: 'rejected', reason: expect.any(FetchFailed) as unknown });
    const good = await served((_request, response) => response.end('good'));
    expect((await http.fetch({ url: httpUrl(good), method: 'GET', answerMaxBytes: 10 })).body.length).toBe(4);
  });
});

describe('forbidden addresses', () => {
  test.each([
    'http://169.254.169.254/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://127.1/',
    'http://0/',
    'http://localhost/',
    'http://10.0.0.1/',
    'http://100.64.0.1/',
  ])('%s', async (url) => {
    await expect(get(url, { privateNetworks: [] })).rejects.toThrow(/not public/);
  });

  test('a name that changes between look-ups: it is looked up once, and the connection goes to that address', async () => {
    const url = await served((_, response) => response.end('here'));
    const answers = [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.1', '10.0.0.1'], ['8.8.8.8', '::ffff:169.254.169.254']];
    const asked: string[] = [];
    const http = new OutgoingHttp({ ...settings, privateNetworks: ['127.0.0.0/8'] }, async (name) => {
      asked.push(name);
      return Promise.resolve(answers.shift() ?? []);
    });
    const { port } = new URL(url);
    const fetching = async (): Promise<string> =>
      http.fetch({ url: new URL(`http://changing.example:${port}/`), method: 'GET', answerMaxBytes: 10 }).then(
        ({ body }) => Buffer.from(body).toString(),
        (error: unknown) => String(error),
      );
    expect(await fetching()).toBe('here');
    for (let round = 0; round < 3; round += 1) expect(await fetching()).toMatch(/not public/);
    expect(await fetching()).toMatch(/has no address/);
    expect(asked).toEqual(Array.from({ length: 5 }, () => 'changing.example'));
  });

  test('an address that is allowed does not open its neighbours', async () => {
    await expect(get('http://10.0.0.1/', { privateNetworks: ['10.1.0.0/16'] })).rejects.toThrow(/not public/);
    await expect(get('http://[::ffff:10.0.0.1]/', { privateNetworks: ['127.0.0.0/8'] })).rejects.toThrow(/not public/);
  });

  test('a network with a port is open at that port alone, one without a port at all', () => {
    const networks = new Networks(['10.1.0.0/16:8080', '10.1.0.0/16:80', '10.2.0.0/16', 'fd00::/8:443', '::1/128']);
    const allowed = [
      ['10.1.2.3', 8080],
      ['10.1.2.3', 80],
      ['10.2.0.1', 9],
      ['fd12::1', 443],
      ['::1', 1],
    ] as const;
    const others = [
      ['10.1.2.3', 81],
      ['10.3.0.1', 8080],
      ['fd12::1', 80],
      ['fe80::1', 443],
      ['10.1.2.3', undefined],
    ] as const;
    expect(allowed.filter(([address, port]) => !networks.has(address, port))).toEqual([]);
    expect(others.filter(([address, port]) => networks.has(address, port))).toEqual([]);
  });

  test.each([
    ...['10.0.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8:', '10.0.0.0/8:0', '10.0.0.0/8:65536', '10.0.0.0/8:80,81'],
    ...['fd00::/8:x', 'intranet/8'],
  ])('%s is no network', (text) => {
    expect(() => new Networks([text])).toThrow(RangeError);
    expect(OutgoingConfig.safeParse({ privateNetworks: [text] }).success).toBe(false);
  });

  test.each([
    'file:///etc/passwd',
    'gopher://example.org/',
    'ftp://example.org/',
    'data:,x',
    'example.org',
    'http://user:secret@example.org/',
    '',
  ])('scheme: %s', (url) => {
    expect(() => httpUrl(url)).toThrow(UrlRefused);
  });

  test('hosts that callers may name', () => {
    const http = new OutgoingHttp({
      ...settings,
      clientHosts: ['tsa.example.org', 'ocsp.example.org:8080', '*.example.net', '*.example.com:8080'],
    });
    const isAllowed = (url: string): boolean => {
      try {
        return http.clientUrl(url).href !== '';
      } catch (error) {
        if (error instanceof UrlRefused) return false;
        throw error;
      }
    };
    const allowed = [
      'http://tsa.example.org/x',
      'https://TSA.example.org:444/',
      'http://ocsp.example.org:8080/',
      'http://a.b.example.net/',
      'http://a.b.example.com:8080/',
      'http://tsa.example.org./',
    ];
    const refused = [
      'http://example.org/',
      'http://ocsp.example.org/',
      'http://example.net/',
      'http://a.example.com/',
      'http://example.com:8080/',
      'http://badexample.net/',
      'http://tsa.example.org.evil.test/',
      'http://evil.test/tsa.example.org',
    ];
    expect([...allowed, ...refused].map(isAllowed)).toEqual([...allowed.map(() => true), ...refused.map(() => false)]);
  });

  test('public addresses', () => {
    const isPublic = ['8.8.8.8', '193.0.6.139', '2001:67c:2e8::1', '2606:4700::1111', '::ffff:8.8.8.8'];
    const isNot = [
      'nonsense',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      'ff02::1',
      'fe80::1',
      'fec0::1',
      '2001:db8::1',
      '2002:7f00:1::',
    ];
    const inside = ['::ffff:127.0.0.1', '::ffff:0:7f00:1', '::7f00:1', '64:ff9b::7f00:1', '1::1', '4000::1', '5f00::1', 'e000::1'];
    expect(isPublic.filter((one) => !isPublicAddress(one))).toEqual([]);
    expect([...isNot, ...inside].filter(isPublicAddress)).toEqual([]);
  });
});
