import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DerError } from '../../src/asn1/reader.ts';
import { PathFault } from '../../src/x509/path/path-fault.ts';
import { findPath, type PathMaterial } from '../../src/x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { crlStatus } from '../../src/revocation/status.ts';
import { readCrl, type Crl } from '../../src/revocation/crl.ts';

const Case = z.object({
  number: z.string(),
  certificate: z.string(),
  intermediates: z.array(z.string()),
  crls: z.array(z.string()),
  expected: z.enum(['valid', 'path', 'revocation']),
});
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../x509/path/pkits/${name}.json`, import.meta.url), 'utf8'));
const bytesOf = z.record(z.string(), z.base64());
const certificates = bytesOf.parse(read('certificates'));
const crls = bytesOf.parse(read('crls'));
/** The chapters on revocation: 4.4, 4.5, 4.7 (cRLSign), 4.14 distribution points, 4.15 delta CRLs. */
const cases = z
  .array(Case)
  .parse(read('cases'))
  .filter(({ number, expected }) => expected !== 'path' && /^4\.(4|5|7|14|15)\./.test(number));

/**
 * What needs CRLs that are combined or of others: names relative to the CRL's issuer, CRLs for some reasons, indirect CRLs, delta CRLs. The status is
 * undetermined then, and nothing is accepted.
 */
const notCombined = new Set([
  '4.14.4',
  '4.14.5',
  '4.14.7',
  '4.14.18',
  '4.14.19',
  '4.14.22',
  '4.14.24',
  '4.14.25',
  '4.14.28',
  '4.14.29',
  '4.14.30',
  '4.14.33',
]);

/** What the base CRL says where a delta says something else: deltas are not used (RFC 5280 §6.3.3, use-deltas false). */
const byBaseAlone = new Map([
  ['4.15.4', 'valid'],
  ['4.15.5', 'revoked'],
]);

const at = new Date('2020-06-01T00:00:00Z');
const named = (name: string): PathCertificate => pathCertificate(Buffer.from(certificates[name] ?? '', 'base64'));
const anchor = named('TrustAnchorRootCertificate');

function outcome(one: z.output<typeof Case>): 'valid' | 'revoked' | 'undetermined' {
  const material = { anchors: [anchor], intermediates: one.intermediates.map(named) };
  const lists = ['TrustAnchorRootCRL', ...one.crls].flatMap(crlNamed);
  const { path } = findPath(named(one.certificate), material, { at });
  const ofPath = [anchor, ...path];
  // Another key of the issuer's name signs CRLs only where its own certificate is in order.
  const others = material.intermediates.filter(
    (other) =>
      !ofPath.some(({ der }) => Buffer.compare(der, other.der) === 0) &&
      hasPath(other, material) &&
      statusOf(other, lists, ofPath) === 'valid',
  );
  const statuses = path.map((certificate) => statusOf(certificate, lists, [...ofPath, ...others]));
  return statuses.includes('revoked') ? 'revoked' : statuses.includes('undetermined') ? 'undetermined' : 'valid';
}

function statusOf(
  certificate: PathCertificate,
  lists: readonly Crl[],
  issuers: readonly PathCertificate[],
): 'valid' | 'revoked' | 'undetermined' {
  const kinds = lists.map((crl) => crlStatus(crl, { certificate, issuers, at }).kind);
  return kinds.includes('revoked') ? 'revoked' : kinds.includes('good') ? 'valid' : 'undetermined';
}

function hasPath(certificate: PathCertificate, material: PathMaterial): boolean {
  try {
    findPath(certificate, material, { at });
    return true;
  } catch (error) {
    if (error instanceof PathFault) return false;
    throw error;
  }
}

function crlNamed(name: string): Crl[] {
  try {
    return [readCrl(Buffer.from(crls[name] ?? '', 'base64'))];
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}

describe('NIST PKITS, revocation by CRL', () => {
  test.each(cases)('$number $certificate', (one) => {
    const found = outcome(one);
    const byBase = byBaseAlone.get(one.number);
    if (byBase !== undefined) expect(found).toBe(byBase);
    else if (one.expected === 'revocation') expect(found).not.toBe('valid');
    else expect(found).toBe(notCombined.has(one.number) ? 'undetermined' : 'valid');
  });
});

test.each([
  ['a minute', 60_000, undefined],
  ['ten minutes', 600_000, 'the CRL is dated in the future'],
])('a clock that is ahead by %s', (_name, aheadMs, why) => {
  const crl = readCrl(Buffer.from(crls['TrustAnchorRootCRL'] ?? '', 'base64'));
  const question = { certificate: named('GoodCACert'), issuers: [anchor], at: new Date(crl.thisUpdate.getTime() - aheadMs) };
  expect(crlStatus(crl, question)).toEqual(why === undefined ? { kind: 'good' } : { kind: 'undetermined', why, isAnswered: true });
});

test('the same octets are the same list, as long as somebody has it', () => {
  const bytes = Buffer.from(crls['TrustAnchorRootCRL'] ?? '', 'base64');
  const crl = readCrl(bytes);
  const inSomethingBigger = Buffer.concat([Buffer.of(1, 2, 3), bytes]).subarray(3);
  expect(readCrl(inSomethingBigger)).toBe(crl);
  expect(crl.der).toEqual(Uint8Array.from(bytes));
});
