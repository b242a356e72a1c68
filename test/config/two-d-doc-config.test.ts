import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { changedMembers, checkChangeable } from '../../src/config/changes.ts';
import { loadConfig, type Config } from '../../src/config/config.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-config-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const identity = { ca: 'FR03', certificateId: 'ABCD', certificate: 'abcd.pem', types: ['01', 'A0'] };

function load(twoDDoc: object | undefined, paths: object = {}): Config {
  const tenant = { certificateAuthority: 'issuing', profile: { keyType: 'P-256' }, ...(twoDDoc === undefined ? {} : { twoDDoc }) };
  const path = join(directory, 'signetd.yaml');
  const config = {
    listeners: { api: { certificate: 'server.pem', key: 'server.key', clientCertificateAuthority: 'clients.pem' } },
    token: { label: 'prod', pin: 'credential:pin' },
    certificateAuthorities: { issuing: { certificate: 'ca.pem', keyId: `49${'0'.repeat(32)}` } },
    tenants: { bank: tenant },
    paths,
  };
  writeFileSync(path, stringify(config));
  return loadConfig(path);
}

describe('2D-Doc in the configuration', () => {
  it('has defaults as the interface says, and its prefix', () => {
    const { tenants, paths } = load(undefined);
    expect(tenants['bank']?.twoDDoc).toEqual({
      ...{ identities: [], modulePixels: 5, dpi: 300, quietZoneModules: 1, encodation: 'C40', allowTestIdentifiers: false },
    });
    expect(paths).toEqual({ signRoot: '/sign', doc2dRoot: '/doc2d', ftmRoot: '/ftm' });
    expect(load(undefined, { doc2dRoot: '/codes' }).paths.doc2dRoot).toBe('/codes');
  });

  it('has paths relative to the file', () => {
    const { identities } = load({ identities: [identity] }).tenants['bank']?.twoDDoc ?? {};
    expect(identities).toEqual([{ ...identity, certificate: join(directory, 'abcd.pem') }]);
  });

  it.each([
    ['a CA identifier that is none', { identities: [{ ...identity, ca: 'fr03' }] }, 'identities.0.ca: not the identifier of a 2D-Doc CA'],
    [
      'a certificate identifier that is none',
      { identities: [{ ...identity, certificateId: 'ABC' }] },
      'identities.0.certificateId: not the',
    ],
    ['a type that is none', { identities: [{ ...identity, types: ['1'] }] }, 'identities.0.types.0: not the code of a document type'],
    ['a type twice', { identities: [{ ...identity, types: ['01', '01'] }] }, 'identities.0.types: duplicate type'],
    ['no types', { identities: [{ ...identity, types: [] }] }, 'identities.0.types'],
    ['an identity twice', { identities: [identity, identity] }, 'identities.1: the identity FR03 ABCD is configured twice'],
    ['a misspelt member', { identities: [{ ...identity, type: '01' }] }, 'identities.0'],
    ['modules of two pixels', { modulePixels: 2 }, 'modulePixels'],
    ['modules of 33 pixels', { modulePixels: 33 }, 'modulePixels'],
    ['no quiet zone', { quietZoneModules: 0 }, 'quietZoneModules'],
    ['another encodation', { encodation: 'ASCII' }, 'encodation'],
    ['half a dot', { dpi: 300.5 }, 'dpi'],
  ])('refuses %s, and names the place', (_what, twoDDoc, text) => {
    expect(() => load(twoDDoc)).toThrow(`: tenants.bank.twoDDoc.${text}`);
  });

  it.each([
    ['the CA FR00', { ...identity, ca: 'FR00' }, 'FR00 ABCD'],
    ['the CA FR00 and its certificate 0001', { ...identity, ca: 'FR00', certificateId: '0001' }, 'FR00 0001'],
    ['the certificate 0000 of any CA', { ...identity, certificateId: '0000' }, 'FR03 0000'],
  ])('refuses %s, which is for tests, unless it allows them', (_what, tested, name) => {
    expect(() => load({ identities: [tested] })).toThrow(
      `tenants.bank.twoDDoc.identities.0: ${name} has the identifiers of tests, which are refused unless allowTestIdentifiers is true`,
    );
    expect(load({ identities: [tested], allowTestIdentifiers: true }).tenants['bank']?.twoDDoc.identities).toHaveLength(1);
  });

  it('can change while signetd runs; the prefix cannot', () => {
    const [before, after] = [load({ identities: [identity] }), load({ identities: [], dpi: 600 })];
    const changed = changedMembers(before, after);
    expect(changed).toEqual(['tenants.bank.twoDDoc.dpi', 'tenants.bank.twoDDoc.identities']);
    expect(() => checkChangeable(changed, 'signetd.yaml')).not.toThrow();
    expect(() => checkChangeable(['paths.doc2dRoot'], 'signetd.yaml')).toThrow(/restart/);
  });
});
