import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { certificateList, type CertificateListContent } from '../../../src/certificates/crl/certificate-list.ts';
import { openssl } from '../../support/openssl.ts';
import { pem } from '../openssl.ts';
import { softwareAuthority, softwareKeyTypes, type SoftwareAuthority } from '../software-authority.ts';
import { columnsOf, type RevokedEntry } from './revoked.ts';

const thisUpdate = new Date('2030-06-01T12:00:00Z');
const entry = (serialNumber: string, reason = 0, revokedAt = new Date('2030-05-31T23:59:59Z')): RevokedEntry => ({
  serialNumber,
  reason,
  revokedAt,
});

let authority: SoftwareAuthority;
beforeAll(async () => {
  authority = await softwareAuthority('P-256');
});

async function list(entries: readonly RevokedEntry[], changes: Partial<CertificateListContent> = {}, by = authority): Promise<Uint8Array> {
  const { certificate, signatureAlgorithm, sign } = by.issuer;
  const { subject: name, subjectPublicKeyInfo, subjectKeyIdentifier } = certificate;
  return certificateList(
    { name, subjectPublicKeyInfo, subjectKeyIdentifier, signatureAlgorithm, sign },
    { number: 7, thisUpdate, nextUpdate: new Date('2030-06-02T12:00:00Z'), revoked: columnsOf(entries), ...changes },
  );
}
const shown = (crl: Uint8Array): string => openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-text'], { crl });

describe('a CRL', () => {
  it.each(softwareKeyTypes)('signed with a key of type %s is verified by OpenSSL', async (type) => {
    const by = await softwareAuthority(type);
    const crl = await list([entry('01'), entry('ff'.repeat(16), 1)], {}, by);
    const verdict = openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-CAfile', '{ca}'], {
      crl,
      ca: by.issuer.chain.map((der) => pem(der)).join(''),
    });
    expect(verdict).toContain('verify OK');
  });

  it('states what is revoked, when and why', async () => {
    const reasons = [
      [1, 'Key Compromise'],
      [2, 'CA Compromise'],
      [3, 'Affiliation Changed'],
      [4, 'Superseded'],
      [5, 'Cessation Of Operation'],
      [6, 'Certificate Hold'],
      [9, 'Privilege Withdrawn'],
      [10, 'AA Compromise'],
    ] as const;
    const text = shown(await list([entry('0a'), ...reasons.map(([reason]) => entry(`0b${reason.toString(16).padStart(2, '0')}`, reason))]));
    expect(text).toMatch(/Version 2 \(0x1\)/);
    expect(text).toContain('Last Update: Jun  1 12:00:00 2030 GMT');
    expect(text).toContain('Next Update: Jun  2 12:00:00 2030 GMT');
    expect(text).toMatch(/X509v3 CRL Number: \n\s+7\n/);
    expect(text).toContain('X509v3 Authority Key Identifier');
    expect(text).not.toContain('2.5.29.60');
    // Unspecified is said by the absence of a reason (RFC 5280 5.3.1).
    expect(text).toMatch(/Serial Number: 0A\n\s+Revocation Date: May 31 23:59:59 2030 GMT\n\s+Serial Number/);
    for (const [reason, name] of reasons) {
      const serial = `0B${reason.toString(16).toUpperCase().padStart(2, '0')}`;
      expect(text).toMatch(new RegExp(`Serial Number: ${serial}\\n.*\\n.*\\n\\s+X509v3 CRL Reason Code: \\n\\s+${name}\\n`));
    }
  });

  it('has no list of entries if nothing is revoked, and states since when it keeps expired certificates', async () => {
    const text = shown(await list([], { expiredFrom: new Date('2029-01-02T03:04:05Z') }));
    expect(text).toContain('No Revoked Certificates.');
    expect(text).toMatch(/2\.5\.29\.60|Expired Certificates On CRL|expiredCertsOnCRL/i);
    expect(text).toContain('20290102030405Z');
  });

  it('dates no entry after itself, and writes dates beyond 2049', async () => {
    const late = shown(await list([entry('01', 0, new Date('2030-06-01T12:00:09Z'))]));
    expect(late).toContain('Revocation Date: Jun  1 12:00:00 2030 GMT');
    const far = { thisUpdate: new Date('2060-01-01T00:00:00Z'), nextUpdate: new Date('2060-01-02T00:00:00Z') };
    const text = shown(await list([entry('01', 1, new Date('2055-01-01T00:00:00.9Z'))], far));
    expect(text).toContain('Revocation Date: Jan  1 00:00:00 2055 GMT');
  });

  it('has every serial number as OpenSSL reads it, over many slices', async () => {
    const serialNumbers = Array.from({ length: 10_000 }, () => randomBytes(16).toString('hex'));
    const text = shown(await list(serialNumbers.map((serialNumber) => entry(serialNumber, 1))));
    const read = [...text.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, hex = '']) => BigInt(`0x${hex}`));
    expect(read).toEqual(serialNumbers.map((hex) => BigInt(`0x${hex}`)));
  });

  it('has any serial number, reason and date as they are', async () => {
    const entries = fc.array(
      fc.record({
        serialNumber: fc.uint8Array({ minLength: 1, maxLength: 20 }).map((octets) => Buffer.from(octets).toString('hex')),
        reason: fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 9, 10),
        revokedAt: fc.date({ min: new Date('1990-01-01'), max: thisUpdate, noInvalidDate: true }),
      }),
      { minLength: 1, maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(entries, async (some) => {
        const text = shown(await list(some));
        const read = [...text.matchAll(/Serial Number: (-?[0-9A-F]+)\n\s+Revocation Date: (.*)\n/g)];
        expect(read.map(([, hex = '', date = '']) => [BigInt(`0x${hex}`), Date.parse(date)])).toEqual(
          some.map(({ serialNumber, revokedAt }) => [BigInt(`0x${serialNumber}`), Math.floor(revokedAt.getTime() / 1000) * 1000]),
        );
      }),
      { numRuns: 25 },
    );
  });

  it('is not published with a signature by another key', async () => {
    const other = await softwareAuthority('P-256');
    const wrong = { ...authority, issuer: { ...authority.issuer, sign: other.issuer.sign } };
    await expect(list([], {}, wrong)).rejects.toThrow('does not verify');
  });
});
