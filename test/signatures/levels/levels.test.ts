import { afterAll, describe, expect, it } from 'vitest';
import { OutgoingHttp } from '../../../src/outgoing/outgoing-http.ts';
import { RevocationSources, type OwnAuthority } from '../../../src/revocation/revocation-data.ts';
import type { SignerChain } from '../../../src/signatures/format.ts';
import type { AskedLevel } from '../../../src/signatures/levels/asked-level.ts';
import { Levels, type LevelServices, type TenantRules } from '../../../src/signatures/levels/level-order.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import type { CheckedToken } from '../../../src/timestamp/check-token.ts';
import type { MessageImprint } from '../../../src/timestamp/request.ts';
import { TimeStampClient, type AuthorityAddress, type TimeStampOrder } from '../../../src/timestamp/time-stamp-client.ts';
import type { PathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { derOf, read, ScratchChain } from './scratch-chain.ts';

const chain = new ScratchChain();
const threads = new WorkThreads();
afterAll(async () => {
  await threads.stop();
  chain.remove();
});

const http = new OutgoingHttp({ clientHosts: ['tsa.example'], privateNetworks: [], timeoutSeconds: 1, connectionsMax: 1 });
const own = chain.stampAuthority();
const remote = new URL('https://configured.example/');
const signer = chain.signer();
const trust = { anchors: [read(chain.root)], intermediates: [read(chain.issuing)] };

/** Remembers what it was asked for, and asks nobody. */
class Remembered extends TimeStampClient {
  readonly asked: { readonly imprint: MessageImprint; readonly order: TimeStampOrder }[] = [];

  constructor() {
    super(http, threads);
  }

  override async stamp(imprint: MessageImprint, order: TimeStampOrder): Promise<CheckedToken> {
    this.asked.push({ imprint, order });
    return Promise.reject(new Error('asked'));
  }
}

interface Configured {
  readonly authorities?: readonly AuthorityAddress[];
  readonly crlUrls?: readonly URL[];
  readonly ocspUrls?: readonly URL[];
  readonly rules?: Partial<TenantRules>;
  readonly ownAuthority?: (issuer: PathCertificate) => OwnAuthority | undefined;
}

const crlUrl = new URL('http://configured.example/crl');
const ocspUrl = new URL('http://configured.example/ocsp');

function levels({ authorities = [own], crlUrls = [crlUrl], ocspUrls = [ocspUrl], rules, ownAuthority }: Configured = {}): {
  levels: Levels;
  client: Remembered;
  revocation: RevocationSources;
} {
  const client = new Remembered();
  const revocation = new RevocationSources(http, threads);
  const services: LevelServices = {
    ...{ http, threads, timeStamps: client, revocation, ownAuthority: ownAuthority ?? (() => undefined) },
    namingAnchors: () => [read(chain.root)],
    server: { authorities: () => authorities, crlUrls, ocspUrls },
    timeStampTrust: () => trust,
    totalSeconds: 7,
  };
  return { levels: new Levels(services, { anyRoot: false, allowSha1: false, ...rules }), client, revocation };
}

const server = { source: 'SERVER' } as const;
const inCertificate = { source: 'CERTIFICATE' } as const;
const client = (...urls: string[]) => ({ source: 'CLIENT', urls }) as const;
function asked({
  timeStamp,
  ...changes
}: Partial<Omit<AskedLevel, 'timeStamp'>> & { timeStamp?: Partial<AskedLevel['timeStamp']> } = {}): AskedLevel {
  return {
    ...{ level: 'LTA', ofSigner: { ocsp: server, crl: server }, ofAuthorities: { ocsp: server, crl: server }, ...changes },
    timeStamp: { addresses: server, hash: 'sha256', nonce: true, ...timeStamp },
  };
}

/** The signer with the extension that names a time-stamp authority (Adobe, 1.2.840.113583.1.1.9.1). */
function stampedAt(url: string): SignerChain {
  const uri = Buffer.concat([Buffer.of(0x86, url.length), Buffer.from(url)]).toString('hex');
  const body = `020101${uri}`;
  const extension = `30${(body.length / 2).toString(16).padStart(2, '0')}${body}`;
  return chain.signer(chain.issuing.issue('Stamped', { extendedKeyUsage: '', extensions: [`1.2.840.113583.1.1.9.1=DER:${extension}`] }));
}

/** The authorities that an order would go to. */
async function authoritiesOf(
  level: AskedLevel,
  of = signer,
  configured: Configured = {},
): Promise<readonly AuthorityAddress[] | undefined> {
  const one = levels(configured);
  await expect(
    one.levels.order(level, of).stamp({ hash: 'sha256', value: new Uint8Array(32) }, new AbortController().signal),
  ).rejects.toThrow('asked');
  return one.client.asked[0]?.order.authorities;
}

describe('an order', () => {
  it('has what was asked for and what the tenant may', async () => {
    const recovery = { intervalSeconds: 2, maxAttempts: 3 };
    const tolerance = { ofSigner: 'REVOKED', cancelOnError: false } as const;
    const more = { hash: 'sha512', policy: '1.2.3.5', nonce: false, credentials: 'a:b', recovery } as const;
    for (const allowSha1 of [true, false]) {
      const one = levels({ rules: { allowSha1 } });
      const order = one.levels.order(asked({ level: 'LT', tolerance, timeStamp: more }), signer);
      const { signal } = new AbortController();
      const imprint = { hash: 'sha512', value: new Uint8Array(64) } as const;
      await expect(order.stamp(imprint, signal)).rejects.toThrow('asked');
      expect(one.client.asked).toMatchObject([
        {
          imprint,
          order: {
            ...{ authorities: [own], policy: '1.2.3.5', nonce: false, credentials: 'a:b', recovery, signal },
            trust: { ...trust, anyRoot: false, allowSha1 },
          },
        },
      ]);
      expect(order).toMatchObject({ level: 'LT', imprintHash: 'sha512', sources: one.revocation, tolerance, totalSeconds: 7, allowSha1 });
      expect(Math.abs(order.now().getTime() - Date.now())).toBeLessThan(60_000);
    }
  });

  it('goes to the authorities of the configuration, the caller or the certificate', async () => {
    const named = stampedAt('http://named.example/');
    expect(await authoritiesOf(asked(), named, { authorities: [own, remote] })).toEqual([own, remote]);
    const given = client('https://tsa.example/1', 'http://tsa.example/2');
    expect(await authoritiesOf(asked({ timeStamp: { addresses: given } }), named)).toEqual(given.urls.map((url) => new URL(url)));
    expect(await authoritiesOf(asked({ timeStamp: { addresses: inCertificate } }), named)).toEqual([new URL('http://named.example/')]);
  });

  it('takes any root for authorities that the caller names, if the tenant may, and for no others', async () => {
    const named = stampedAt('http://named.example/');
    const anyRootOf = async (addresses: AskedLevel['timeStamp']['addresses'], anyRoot: boolean): Promise<boolean | undefined> => {
      const one = levels({ rules: { anyRoot } });
      const imprint = { hash: 'sha256', value: new Uint8Array(32) } as const;
      const order = one.levels.order(asked({ timeStamp: { addresses } }), named);
      await expect(order.stamp(imprint, new AbortController().signal)).rejects.toThrow('asked');
      return one.client.asked[0]?.order.trust.anyRoot;
    };
    const given = client('https://tsa.example/');
    expect([await anyRootOf(given, true), await anyRootOf(given, false)]).toEqual([true, false]);
    for (const addresses of [server, inCertificate]) expect(await anyRootOf(addresses, true)).toBe(false);
  });

  it('is refused without an authority, each by its own words', () => {
    const refused = (message: string) => expect.objectContaining({ code: 'TIMESTAMP_UNAVAILABLE', message }) as Error;
    expect(() => levels({ authorities: [] }).levels.order(asked(), signer)).toThrow(
      refused('no time-stamp authority is configured (URLSource SERVER)'),
    );
    const ofCertificate = asked({ timeStamp: { addresses: inCertificate } });
    expect(() => levels().levels.order(ofCertificate, signer)).toThrow(
      refused('the signer certificate names no time-stamp authority (URLSource CERTIFICATE)'),
    );
    expect(() => levels().levels.order(ofCertificate, stampedAt('ldap://named.example/'))).toThrow(
      refused('the time-stamp authority of the signer certificate: not an http or https URL'),
    );
  });

  it('takes revocation data from where it was asked to', () => {
    const url = 'http://tsa.example/data';
    const order = (ofSigner: AskedLevel['ofSigner'], ofAuthorities: AskedLevel['ofAuthorities']) =>
      levels().levels.order(asked({ ofSigner, ofAuthorities }), signer);
    const one = order({ choice: 'BOTH', ocsp: inCertificate, crl: server }, { choice: 'CRL', ocsp: client(url), crl: inCertificate });
    expect(one.ofSigner).toEqual({ choice: 'BOTH', ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'SERVER', urls: [crlUrl] } });
    expect(one.ofAuthorities).toEqual({ choice: 'CRL', ocsp: { kind: 'CLIENT', urls: [new URL(url)] }, crl: { kind: 'CERTIFICATE' } });
    const other = order({ ocsp: server, crl: client(url) }, { ocsp: server, crl: server });
    expect(other.ofSigner).toEqual({ ocsp: { kind: 'SERVER', urls: [ocspUrl] }, crl: { kind: 'CLIENT', urls: [new URL(url)] } });
  });
});

describe('an address of a caller', () => {
  const refused = (code: string, text: string, at?: string) =>
    expect.objectContaining({ code, message: expect.stringContaining(text) as string, at }) as Error;

  it('is one that the service may connect to', () => {
    const one = levels().levels;
    expect(() => {
      one.checkUrl('https://tsa.example/', '/a');
    }).not.toThrow();
    expect(() => {
      one.checkUrl('ftp://tsa.example/', '/a');
    }).toThrow(refused('FIELD_INVALID', 'not an http or https URL', '/a'));
    expect(() => {
      one.checkUrl('https://other.example/', '/a');
    }).toThrow(refused('UNSUPPORTED', '(outgoing.clientHosts of the configuration)', '/a'));
  });

  it('is looked at wherever it stands in an order', () => {
    const other = client('https://tsa.example/', 'https://other.example/');
    const all: AskedLevel[] = [
      asked({ timeStamp: { addresses: other } }),
      ...(['ofSigner', 'ofAuthorities'] as const).flatMap((of) => [
        asked({ [of]: { ocsp: other, crl: server } }),
        asked({ [of]: { ocsp: server, crl: other } }),
      ]),
    ];
    for (const one of all) expect(() => levels().levels.order(one, signer)).toThrow(refused('UNSUPPORTED', 'other.example'));
  });
});

describe('before a secret is used', () => {
  /** The refusal of a check; undefined where there is none. */
  async function check(
    level: AskedLevel,
    { of = signer, hash = 'sha256', ...configured }: Configured & { of?: SignerChain; hash?: 'sha256' | 'sha512' } = {},
  ): Promise<unknown> {
    const checked = async (): Promise<unknown> => levels(configured).levels.check(level, of, { hash });
    return checked().catch((error: unknown) => error);
  }
  const refused = (code: string, text: string | RegExp = '') =>
    expect.objectContaining({ code, message: expect.stringMatching(text) as string }) as Error;
  const noSources = { crlUrls: [], ocspUrls: [] };

  it('the chain of the signer has to be valid now', async () => {
    const other = chain.signer(chain.person, [derOf(chain.root)]);
    for (const level of ['T', 'LT'] as const)
      expect(await check(asked({ level }), { of: other })).toEqual(refused('CERTIFICATE_STATUS_REFUSED'));
    expect(await check(asked())).toBeUndefined();
  });

  it('the sources of revocation data have to be known where they are needed', async () => {
    const unavailable = refused('REVOCATION_UNAVAILABLE', /signerRevocationDataSource/);
    for (const level of ['LT', 'LTA'] as const) expect(await check(asked({ level }), noSources)).toEqual(unavailable);
    expect(await check(asked({ level: 'T' }), noSources)).toBeUndefined();
    const ofSigner = 'VALID' as const;
    expect(await check(asked({ tolerance: { ofSigner, cancelOnError: true } }), noSources)).toEqual(
      refused('REVOCATION_UNAVAILABLE', /revocationData\.signerCertificate/),
    );
    expect(await check(asked({ tolerance: { ofSigner, cancelOnError: false } }), noSources)).toBeUndefined();
    const data: OwnAuthority = { crl: async () => Promise.resolve(new Uint8Array()) };
    expect(await check(asked(), { ...noSources, ownAuthority: () => data })).toBeUndefined();
    const ofIssuing = (issuer: PathCertificate): OwnAuthority | undefined => (issuer === read(chain.issuing) ? data : undefined);
    expect(await check(asked(), { ...noSources, ownAuthority: ofIssuing })).toEqual(
      refused('REVOCATION_UNAVAILABLE', /authoritiesRevocationDataSource/),
    );
  });

  it('an address has to be allowed', async () => {
    const addresses = client('https://other.example/');
    expect(await check(asked({ timeStamp: { addresses } }))).toEqual(refused('UNSUPPORTED'));
  });

  it('the own time-stamp authority has to offer the hash and the policy, for each time-stamp', async () => {
    const unavailable = (text: string) =>
      refused('TIMESTAMP_UNAVAILABLE', new RegExp(`^the time-stamp authority of this service: ${text}`));
    expect(await check(asked({ timeStamp: { hash: 'sha512' } }))).toEqual(unavailable('badAlg'));
    expect(await check(asked({ timeStamp: { policy: '9.9' } }))).toEqual(unavailable('unacceptedPolicy'));
    expect(await check(asked({ timeStamp: { policy: '1.2.3.5' } }))).toBeUndefined();
    // The archive time-stamp has the hash of the signature.
    expect(await check(asked(), { hash: 'sha512' })).toEqual(unavailable('badAlg'));
    for (const level of ['T', 'LT'] as const) expect(await check(asked({ level }), { hash: 'sha512' })).toBeUndefined();
  });

  it('of one elsewhere nobody knows what it offers, nor of those that come after it', async () => {
    expect(await check(asked({ timeStamp: { hash: 'sha512' } }), { authorities: [remote, own] })).toBeUndefined();
    expect(await check(asked({ timeStamp: { hash: 'sha512' } }), { authorities: [own, remote] })).toEqual(refused('TIMESTAMP_UNAVAILABLE'));
  });
});

describe('a time-stamp of a hash', () => {
  it('is one of the authorities of the configuration, which have no root but the configured ones', async () => {
    for (const rules of [
      { anyRoot: true, allowSha1: true },
      { anyRoot: false, allowSha1: false },
    ]) {
      const one = levels({ authorities: [remote], rules });
      const imprint = { hash: 'sha256', value: new Uint8Array(32) } as const;
      await expect(one.levels.stampHash(imprint)).rejects.toThrow('asked');
      await expect(one.levels.stampHash(imprint, Uint8Array.of(5))).rejects.toThrow('asked');
      const stampTrust = { ...trust, anyRoot: false, allowSha1: rules.allowSha1 };
      expect(one.client.asked).toMatchObject([
        { imprint, order: { authorities: [remote], nonce: true, trust: stampTrust } },
        { imprint, order: { authorities: [remote], nonce: Uint8Array.of(5), trust: stampTrust } },
      ]);
      expect(one.client.asked[0]?.order.signal?.aborted).toBe(false);
    }
  });

  it('needs an authority in the configuration', async () => {
    expect([levels().levels.hasAuthorities, levels({ authorities: [] }).levels.hasAuthorities]).toEqual([true, false]);
    const imprint = { hash: 'sha256', value: new Uint8Array(32) } as const;
    await expect(levels({ authorities: [] }).levels.stampHash(imprint)).rejects.toMatchObject({ code: 'TIMESTAMP_UNAVAILABLE' });
  });
});
