import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { PathFault } from '../../../src/x509/path/path-fault.ts';
import { findPath } from '../../../src/x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../../src/x509/path/path-certificate.ts';

const Case = z.object({
  number: z.string(),
  certificate: z.string(),
  intermediates: z.array(z.string()),
  expected: z.enum(['valid', 'path', 'revocation']),
  policies: z.array(z.string()).optional(),
  explicitPolicy: z.boolean().optional(),
  policyMappingInhibited: z.boolean().optional(),
  anyPolicyInhibited: z.boolean().optional(),
});
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`./pkits/${name}.json`, import.meta.url), 'utf8'));
const certificates = z.record(z.string(), z.base64()).parse(read('certificates'));
const cases = z.array(Case).parse(read('cases'));

const at = new Date('2020-06-01T00:00:00Z');
const named = (name: string): PathCertificate => pathCertificate(Buffer.from(certificates[name] ?? '', 'base64'));
const anchor = named('TrustAnchorRootCertificate');
/** Its key has no parameters of its own, only those of its issuer: OpenSSL cannot use it, and no signature of today needs it. */
const parametersInherited = '4.1.5';
/** All CA certificates of the suite at once: the right ones have to be found among them. */
const everything = Object.keys(certificates)
  .filter((name) => name.endsWith('Cert') && name !== 'TrustAnchorRootCertificate')
  .map(named);

function outcome(target: PathCertificate, intermediates: readonly PathCertificate[], one: z.output<typeof Case>): string {
  const { policies, ...options } = one;
  try {
    findPath(
      target,
      { anchors: [anchor], intermediates },
      { ...options, at, ...(policies === undefined ? {} : { policies: new Set(policies) }) },
    );
    return 'valid';
  } catch (error) {
    if (error instanceof PathFault) return 'path';
    throw error;
  }
}

describe('NIST PKITS', () => {
  test.each(cases)('$number $certificate', (one) => {
    const expected = one.number === parametersInherited || one.expected === 'path' ? 'path' : 'valid';
    expect(outcome(named(one.certificate), one.intermediates.map(named), one)).toBe(expected);
  });

  test('the paths are the same where all certificates of the suite are at hand', () => {
    const different = cases.filter((one) => {
      const expected = one.number === parametersInherited || one.expected === 'path' ? 'path' : 'valid';
      return outcome(named(one.certificate), everything, one) !== expected;
    });
    expect(different.map(({ number }) => number)).toEqual([]);
  });
});
