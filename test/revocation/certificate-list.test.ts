import * as fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import * as asn1 from '../../src/asn1/der.ts';
import { DerError } from '../../src/asn1/reader.ts';
import { readCertificateList, readRevoked, serialText } from '../../src/revocation/certificate-list.ts';
import { openssl } from '../support/openssl.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-crl-'));
const authority = new ScratchAuthority(directory, 'lists');
const derOf = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('a CRL that OpenSSL made', () => {
  it('is read in the same way as by OpenSSL', () => {
    const clients = [authority.issue('one'), authority.issue('two')];
    for (const client of clients) authority.revoke(client);
    const from = new Date('2026-01-01T00:00:00Z');
    const until = new Date('2051-02-03T04:05:06Z');
    const pem = authority.revocationList({ from, until });
    const list = readCertificateList(derOf(pem));
    expect([list.thisUpdate, list.nextUpdate]).toEqual([from, until]);
    const text = openssl(['crl', '-in', '{crl}', '-noout', '-text'], { crl: pem });
    const serials = [...text.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, serial = '']) => serialText(serial));
    expect(serials.length).toBe(2);
    expect([...readRevoked(list)].toSorted()).toEqual(serials.toSorted());
  });

  it('with any octet changed or cut off is refused or read, and never breaks the reader', () => {
    const bytes = derOf(authority.revocationList());
    const changed = fc
      .tuple(fc.nat(bytes.length - 1), fc.nat(255))
      .map(([at, octet]) => Buffer.concat([bytes.subarray(0, at), Buffer.of(octet), bytes.subarray(at + 1)]));
    const cut = fc.nat(bytes.length - 1).map((length) => bytes.subarray(0, length));
    fc.assert(
      fc.property(fc.oneof(changed, cut, fc.uint8Array({ maxLength: 300 })), (input) => {
        try {
          readRevoked(readCertificateList(input));
        } catch (error) {
          if (!(error instanceof DerError)) throw error;
        }
      }),
      { numRuns: 3000 },
    );
  });
});

const algorithm = asn1.sequence(asn1.oid('1.2.840.10045.4.3.2'));
const start = new Date('2026-01-01T00:00:00Z');
const end = new Date('2026-02-01T00:00:00Z');

interface Parts {
  readonly times?: readonly Uint8Array[];
  readonly entries?: readonly Uint8Array[];
  readonly extensions?: readonly Uint8Array[];
}

/** A CRL of an empty name, with a signature that nobody checks here. */
function listOf({ times = [asn1.time(start), asn1.time(end)], entries = [], extensions = [] }: Parts): Uint8Array {
  const revoked = entries.length === 0 ? [] : [asn1.sequence(...entries)];
  const explicit = extensions.length === 0 ? [] : [asn1.explicit(0, asn1.sequence(...extensions))];
  const toBeSigned = asn1.sequence(asn1.integer(1), algorithm, asn1.sequence(), ...times, ...revoked, ...explicit);
  return asn1.sequence(toBeSigned, algorithm, asn1.bitString(Uint8Array.of(1, 2, 3)));
}

const extension = (oid: string, isCritical: boolean, value: Uint8Array = Uint8Array.of()): Uint8Array =>
  asn1.sequence(asn1.oid(oid), ...(isCritical ? [asn1.boolean(true)] : []), asn1.octetString(value));
/** issuingDistributionPoint (RFC 5280 §5.2.5) of one member. */
const point = (tag: number, content: Uint8Array): Uint8Array =>
  extension('2.5.29.28', false, asn1.sequence(asn1.tagged(tag, Buffer.from(content))));
const yes = Uint8Array.of(0xff);

describe('a CRL', () => {
  it('without entries and extensions is read', () => {
    expect(readRevoked(readCertificateList(listOf({}))).size).toBe(0);
  });

  it('names certificates by serial numbers of any length and sign, as Node writes them', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 159n), max: 2n ** 159n }), (serial) => {
        const list = readCertificateList(listOf({ entries: [asn1.sequence(asn1.integer(serial), asn1.time(start))] }));
        const magnitude = (serial < 0n ? -serial : serial).toString(16).toUpperCase();
        const asNode = `${serial < 0n ? '-' : ''}${magnitude.length % 2 === 0 ? '' : '0'}${magnitude}`;
        expect([...readRevoked(list)]).toEqual([serialText(asNode)]);
      }),
    );
  });

  it.each<[string, Parts, RegExp]>([
    ['without nextUpdate', { times: [asn1.time(start)] }, /no nextUpdate/],
    ['that is a delta CRL', { extensions: [extension('2.5.29.27', true)] }, /a delta CRL/],
    ['that is a delta CRL and does not say how much', { extensions: [extension('2.5.29.27', false)] }, /a delta CRL/],
    ['of a part of the certificates', { extensions: [extension('2.5.29.28', true)] }, /unknown critical extension 2\.5\.29\.28/],
    [
      'of certificates of other issuers',
      { entries: [asn1.sequence(asn1.integer(5), asn1.time(start), asn1.sequence(extension('2.5.29.29', true)))] },
      /unknown critical extension 2\.5\.29\.29/,
    ],
    ['of users alone', { extensions: [point(0x81, yes)] }, /the extension 2\.5\.29\.28 limits the CRL/],
    ['of CAs alone', { extensions: [point(0x82, yes)] }, /the extension 2\.5\.29\.28 limits the CRL/],
    ['of some reasons', { extensions: [point(0x83, Uint8Array.of(5, 0x20))] }, /the extension 2\.5\.29\.28 limits the CRL/],
    ['that is indirect', { extensions: [point(0x84, yes)] }, /the extension 2\.5\.29\.28 limits the CRL/],
    ['of attribute certificates', { extensions: [point(0x85, yes)] }, /the extension 2\.5\.29\.28 limits the CRL/],
    [
      'of certificates of another issuer, without saying how much it matters',
      { entries: [asn1.sequence(asn1.integer(5), asn1.time(start), asn1.sequence(extension('2.5.29.29', false)))] },
      /the extension 2\.5\.29\.29 limits the CRL/,
    ],
    ['with a time that does not exist', { times: [asn1.time(start), asn1.tagged(0x17, Buffer.from('260230000000Z'))] }, /nonexistent time/],
  ])('%s is refused', (_name, parts, message) => {
    expect(() => readRevoked(readCertificateList(listOf(parts)))).toThrow(message);
  });

  it('with extensions that are not critical is read', () => {
    const entry = asn1.sequence(asn1.integer(5), asn1.time(start), asn1.sequence(extension('2.5.29.21', false)));
    const extensions = [extension('2.5.29.20', false), point(0xa0, Uint8Array.of())];
    expect([...readRevoked(readCertificateList(listOf({ entries: [entry], extensions })))]).toEqual(['5']);
  });
});
