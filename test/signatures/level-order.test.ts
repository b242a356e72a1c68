import { afterAll, describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { RevocationSources } from '../../src/revocation/revocation-data.ts';
import type { AskedLevel } from '../../src/signatures/levels/asked-level.ts';
import type { SignerChain } from '../../src/signatures/format.ts';
import { Levels, type LevelOrder } from '../../src/signatures/levels/level-order.ts';
import { alwaysVouched } from '../../src/signatures/levels/vouching.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { TimeStampClient, type TimeStampOrder } from '../../src/timestamp/time-stamp-client.ts';
import { softwareSigner } from './software-signer.ts';

const http = new OutgoingHttp({ clientHosts: ['tsa.example'], privateNetworks: [], timeoutSeconds: 1, connectionsMax: 1 });
const threads = new WorkThreads();
afterAll(async () => threads.stop());

/** A client that is asked, and asks nobody. */
class Asked extends TimeStampClient {
  readonly orders: TimeStampOrder[] = [];

  override async stamp(_imprint: unknown, order: TimeStampOrder): Promise<never> {
    this.orders.push(order);
    return Promise.reject(new Error('nobody is asked'));
  }
}

const plain = softwareSigner('Signer');
const url = 'http://tsa.example/';
const value = der.sequence(der.integer(1), der.implicitPrimitive(6, Buffer.from(url)));
const naming = { oid: oids.timeStampAddress, critical: false, value };
/** As if its issuer had named an authority in it. */
const signer = { ...plain, certificate: { ...plain.certificate, extensions: new Map([[naming.oid, naming]]) } };

const asked = (addresses: AskedLevel['timeStamp']['addresses']): AskedLevel => ({
  level: 'T',
  timeStamp: { addresses, hash: 'sha256', nonce: true },
  ofSigner: { ocsp: { source: 'SERVER' }, crl: { source: 'SERVER' } },
  ofAuthorities: { ocsp: { source: 'SERVER' }, crl: { source: 'SERVER' } },
});

/** What is asked of a client of time-stamps. `hosts`: those that callers may name. */
async function orderOf(
  level: AskedLevel,
  { anyRoot = false, of = signer, hosts = http }: { anyRoot?: boolean; of?: SignerChain; hosts?: OutgoingHttp } = {},
): Promise<TimeStampOrder & { readonly level: LevelOrder }> {
  const timeStamps = new Asked(hosts, threads);
  const services = {
    ...{ http: hosts, threads, timeStamps, revocation: new RevocationSources(hosts, threads), totalSeconds: 7 },
    ownAuthority: () => undefined,
    server: { authorities: () => [new URL(url)], crlUrls: [new URL(`${url}crl`)], ocspUrls: [new URL(`${url}ocsp`)] },
    timeStampTrust: () => ({ anchors: [], intermediates: [] }),
    namingAnchors: () => [],
  };
  const order = new Levels(services, { anyRoot, allowSha1: false }).order(level, of);
  await expect(order.stamp({ hash: 'sha256', value: Buffer.alloc(32) }, AbortSignal.timeout(1000))).rejects.toThrow('nobody is asked');
  const [first] = timeStamps.orders;
  if (first === undefined) throw new Error('the client is not asked');
  return { ...first, level: order };
}

async function trustOf(addresses: AskedLevel['timeStamp']['addresses'], anyRoot: boolean): Promise<readonly [string, boolean | undefined]> {
  const { authorities, trust } = await orderOf(asked(addresses), { anyRoot });
  const [first] = authorities;
  return [first instanceof URL ? first.href : 'none', trust.anyRoot];
}

describe('where a tenant takes time-stamps from any root', () => {
  it.each([
    ['an authority that the caller names', { source: 'CLIENT', urls: [url] }, true],
    ['an authority of the configuration', { source: 'SERVER' }, false],
    ['an authority that the signer certificate names', { source: 'CERTIFICATE' }, false],
  ] as const)('that of %s: %o is %s', async (_who, addresses, isTaken) => {
    const source = addresses.source === 'CLIENT' ? { ...addresses, urls: [...addresses.urls] } : addresses;
    expect(await trustOf(source, true)).toEqual([url, isTaken]);
    expect(await trustOf(source, false)).toEqual([url, false]);
  });
});

describe('a server that a signer certificate names', () => {
  const nobody = new OutgoingHttp({ clientHosts: [], privateNetworks: [], timeoutSeconds: 1, connectionsMax: 1 });
  const named = asked({ source: 'CERTIFICATE' });

  it('is asked if the service issued the certificate, and tells its failures then', async () => {
    const order = await orderOf(named, { of: { ...signer, isOwn: true }, hosts: nobody });
    expect([order.authorities, order.hidesFailures]).toEqual([[new URL(url)], false]);
    expect(order.level.vouches.forSigner).toBe(alwaysVouched);
    expect(order.level.vouches.forOthers).not.toBe(alwaysVouched);
  });

  it('is not asked if another one did and nobody vouches for it, unless callers may name it', async () => {
    await expect(orderOf(named, { hosts: nobody })).rejects.toThrow('is not asked');
    const order = await orderOf(named);
    expect(order.hidesFailures).toBe(true);
    expect(order.level.vouches.forSigner).not.toBe(alwaysVouched);
  });
});

describe('a level', () => {
  it('is reached as the request asks for it', async () => {
    const stamp = { policy: '1.2.3', nonce: false, credentials: 'a:b', recovery: { intervalSeconds: 2, maxAttempts: 3 } };
    const usual = asked({ source: 'SERVER' });
    const order = await orderOf({ ...usual, timeStamp: { ...usual.timeStamp, ...stamp, hash: 'sha384' }, level: 'LT' });
    expect(order).toMatchObject({ ...stamp, hidesFailures: false });
    expect(order.level).toMatchObject({ level: 'LT', imprintHash: 'sha384', totalSeconds: 7, allowSha1: false });
  });

  it('takes revocation data from where the request says', async () => {
    const ofSigner: AskedLevel['ofSigner'] = {
      choice: 'BOTH',
      ocsp: { source: 'CLIENT', urls: [`${url}own`] },
      crl: { source: 'CERTIFICATE' },
    };
    const { level } = await orderOf({ ...asked({ source: 'SERVER' }), ofSigner });
    expect(level.ofSigner).toEqual({
      choice: 'BOTH',
      ocsp: { kind: 'CLIENT', urls: [new URL(`${url}own`)] },
      crl: { kind: 'CERTIFICATE' },
    });
    expect(level.ofAuthorities).toEqual({
      ocsp: { kind: 'SERVER', urls: [new URL(`${url}ocsp`)] },
      crl: { kind: 'SERVER', urls: [new URL(`${url}crl`)] },
    });
  });
});
