import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { DerError } from '../../src/asn1/reader.ts';
import { pathCertificate, type PathCertificate } from '../../src/x509/path/path-certificate.ts';
import { signedCertificate, signedStructure } from '../../src/certificates/signed-certificate.ts';
import { extension } from '../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { crlStatus } from '../../src/revocation/status.ts';
import { readCrl } from '../../src/revocation/crl.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const name = subjectName({ country: 'FR', commonName: 'Issuer' });
const signer = {
  name,
  subjectPublicKeyInfo: publicKey.export({ format: 'der', type: 'spki' }),
  signatureAlgorithm: 'ecdsaWithSHA256' as const,
  sign: async (tbs: Uint8Array) => Promise.resolve(sign('sha256', tbs, privateKey)),
};
const at = new Date('2026-06-01T00:00:00Z');
const [notBefore, notAfter] = [new Date('2026-01-01T00:00:00Z'), new Date('2027-01-01T00:00:00Z')];
const uris = (count: number, letter: string): Uint8Array =>
  der.concat(...Array.from({ length: count }, () => der.implicitPrimitive(6, Buffer.from(letter))));

async function certificateWith(points: Uint8Array): Promise<PathCertificate> {
  const { der: encoded } = extension(oids.crlDistributionPoints, points);
  const { subjectPublicKeyInfo } = signer;
  const content = { subject: name, subjectPublicKeyInfo, extensions: [encoded], notBefore, notAfter, serialNumber: randomBytes(16) };
  return pathCertificate(await signedCertificate(signer, content));
}

async function crlWith(fullName: Uint8Array, issuer = name): Promise<Uint8Array> {
  const point = der.sequence(der.explicit(0, der.implicitConstructed(0, fullName)));
  const extensions = der.sequence(der.sequence(der.oid('2.5.29.28'), der.boolean(true), der.octetString(point)));
  const algorithm = der.sequence(der.oid(oids.ecdsaWithSHA256));
  return signedStructure(
    signer,
    der.sequence(der.integer(1), algorithm, issuer, der.time(notBefore), der.time(notAfter), der.explicit(0, extensions)),
  );
}

const onePoint = (names: Uint8Array): Uint8Array => der.sequence(der.sequence(der.explicit(0, der.implicitConstructed(0, names))));

test('the name of a CRL has a bounded length, since it is read before its signature is verified', async () => {
  const part = subjectName({ country: 'FR', commonName: 'Issuer' }).subarray(2);
  const long = der.sequence(...Array.from({ length: 20_000 }, () => part));
  const crl = await crlWith(uris(1, 'b'), long);
  expect(() => readCrl(crl)).toThrow('name of more than 16384 octets');
});

describe('what a CRL says of its distribution point', () => {
  test('is compared with what the certificate says', async () => {
    const crl = readCrl(await crlWith(uris(3, 'b')));
    const statusOf = async (letter: string): Promise<string> => {
      const certificate = await certificateWith(onePoint(uris(2, letter)));
      return crlStatus(crl, { certificate, issuers: [certificate], at }).kind;
    };
    expect(await statusOf('b')).toBe('good');
    expect(await statusOf('a')).toBe('undetermined');
  });

  test('costs no more than to read it, however many names both have', async () => {
    const certificate = await certificateWith(onePoint(uris(3500, 'a')));
    const crl = readCrl(await crlWith(uris(20_000, 'b')));
    const begin = performance.now();
    expect(crlStatus(crl, { certificate, issuers: [certificate], at }).kind).toBe('undetermined');
    // Ten times the goal; each with each would take ten seconds.
    expect(performance.now() - begin).toBeLessThan(1000);
  });

  test('has a bounded length, as its other extensions have', async () => {
    const crl = await crlWith(uris(30_000, 'b'));
    expect(() => readCrl(crl)).toThrow(DerError);
  });
});
