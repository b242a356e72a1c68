import { afterAll, describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { OutgoingHttp } from '../../src/outgoing/outgoing-http.ts';
import { RevocationSources } from '../../src/revocation/revocation-data.ts';
import type { AskedLevel } from '../../src/signatures/levels/asked-level.ts';
import { Levels } from '../../src/signatures/levels/level-order.ts';
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

async function trustOf(addresses: AskedLevel['timeStamp']['addresses'], anyRoot: boolean): Promise<readonly [string, boolean | undefined]> {
  const timeStamps = new Asked(http, threads);
  const services = {
    ...{ http, threads, timeStamps, revocation: new RevocationSources(http, threads), totalSeconds: 1 },
    ownAuthority: () => undefined,
    server: { authorities: () => [new URL(url)], crlUrls: [], ocspUrls: [] },
    timeStampTrust: () => ({ anchors: [], intermediates: [] }),
    namingAnchors: () => [],
  };
  const order = new Levels(services, { anyRoot, allowSha1: false }).order(asked(addresses), signer);
  await expect(order.stamp({ hash: 'sha256', value: Buffer.alloc(32) }, AbortSignal.timeout(1000))).rejects.toThrow('nobody is asked');
  const [{ authorities, trust } = { authorities: [], trust: { anchors: [] } }] = timeStamps.orders;
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
