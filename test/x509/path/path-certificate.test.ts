import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { DerError } from '../../../src/asn1/reader.ts';
import { signedCertificate } from '../../../src/certificates/signed-certificate.ts';
import { extension } from '../../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../../src/certificates/subject.ts';
import { isSelfSigned, pathCertificate, type PathCertificate } from '../../../src/x509/path/path-certificate.ts';

const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const name = subjectName({ country: 'FR', commonName: 'Reader' });
let serial = 0;

/** A certificate with these extensions, by name and key. */
async function certificate(
  extensions: Readonly<Record<string, Uint8Array>>,
  { subject = name, issuer = name, keys = own } = {},
): Promise<PathCertificate> {
  serial += 1;
  const signer = {
    ...{ name: issuer, subjectPublicKeyInfo: keys.publicKey.export({ format: 'der', type: 'spki' }) },
    signatureAlgorithm: 'ecdsaWithSHA256' as const,
    sign: async (tbs: Uint8Array) => Promise.resolve(sign('sha256', tbs, keys.privateKey)),
  };
  return pathCertificate(
    await signedCertificate(signer, {
      subject,
      subjectPublicKeyInfo: own.publicKey.export({ format: 'der', type: 'spki' }),
      extensions: Object.entries(extensions).map(([oid, value]) => extension(oid, value).der),
      notBefore: new Date('2026-01-01T00:00:00Z'),
      notAfter: new Date('2027-01-01T00:00:00Z'),
      serialNumber: Uint8Array.of(1, serial),
    }),
  );
}

const integer = (...octets: number[]): Uint8Array => der.tagged(0x02, Uint8Array.from(octets));
const uri = (text: string): Uint8Array => der.implicitPrimitive(6, Buffer.from(text));

describe('a certificate for path validation', () => {
  it('is one of a CA only by a BOOLEAN that is TRUE as DER has it', async () => {
    const isCa = async (...octets: number[]): Promise<boolean> =>
      (await certificate({ [oids.basicConstraints]: der.sequence(der.tagged(0x01, Uint8Array.from(octets))) })).isCa;
    expect([await isCa(0xff), await isCa(0), await isCa(1), await isCa()]).toEqual([true, false, false, false]);
    expect((await certificate({ [oids.basicConstraints]: der.sequence() })).isCa).toBe(false);
    expect((await certificate({})).isCa).toBe(false);
  });

  it('counts certificates by numbers that are not negative, huge ones being capped', async () => {
    const count = async (...octets: number[]): Promise<number | undefined> =>
      (await certificate({ [oids.inhibitAnyPolicy]: integer(...octets) })).inhibitAnyPolicy;
    expect([await count(0), await count(0x7f), await count(0, 0x80), await count(1, 0)]).toEqual([0, 127, 128, 256]);
    expect([await count(0x01, 0x02, 0x03, 0x04), await count(1, 0, 0, 0, 0)]).toEqual([0x01020304, 0x7fffffff]);
    for (const octets of [[], [0x80], [0xff], [0x80, 0]]) await expect(count(...octets)).rejects.toThrow(DerError);
    const length = { [oids.basicConstraints]: der.sequence(der.tagged(0x01, Uint8Array.of(0xff)), integer(0xff)) };
    await expect(certificate(length)).rejects.toThrow('negative number');
  });

  it('has usages by the bits of keyUsage, of one octet or two', async () => {
    const usages = async (...octets: number[]): Promise<number[]> => [
      ...((await certificate({ [oids.keyUsage]: der.tagged(0x03, Uint8Array.from(octets)) })).keyUsage ?? []),
    ];
    expect(await usages(1, 0b1000_0110)).toEqual([0, 5, 6]);
    expect(await usages(7, 0, 0x80)).toEqual([8]);
    expect(await usages(0)).toEqual([]);
    expect((await certificate({})).keyUsage).toBeUndefined();
  });

  it('maps one policy to another one each', async () => {
    const mapping = (...policies: string[]): { readonly [oid: string]: Uint8Array } => ({
      [oids.policyMappings]: der.sequence(der.sequence(...policies.map((one) => der.oid(one)))),
    });
    expect((await certificate(mapping('1.1', '2.1'))).policyMappings).toEqual([{ issuerDomain: '1.1', subjectDomain: '2.1' }]);
    for (const policies of [[], ['1.1'], ['1.1', '2.1', '2.2']]) await expect(certificate(mapping(...policies))).rejects.toThrow(DerError);
  });

  it('has the distribution points of full names, for all reasons and by its own issuer', async () => {
    const names = async (point: Uint8Array): Promise<number> =>
      (await certificate({ [oids.crlDistributionPoints]: der.sequence(point) })).distributionPoints.length;
    const full = der.explicit(0, der.implicitConstructed(0, uri('http://a.example/')));
    const reasons = der.implicitPrimitive(1, Uint8Array.of(0, 0xff));
    const issuer = der.implicitConstructed(2, der.explicit(4, name));
    const relative = der.explicit(0, der.implicitConstructed(1, der.sequence(der.oid(oids.commonName), der.utf8String('a'))));
    expect(await names(der.sequence(full))).toBe(1);
    for (const point of [
      der.sequence(full, reasons),
      der.sequence(full, issuer),
      der.sequence(issuer),
      der.sequence(relative),
      der.sequence(),
    ])
      expect(await names(point)).toBe(0);
  });

  it('names responders by the URIs of OCSP alone', async () => {
    const access = (method: string, location: Uint8Array): Uint8Array => der.sequence(der.oid(method), location);
    const { ocspUrls } = await certificate({
      [oids.authorityInfoAccess]: der.sequence(
        access(oids.accessOcsp, uri('http://one.example/')),
        access('1.3.6.1.5.5.7.48.2', uri('http://issuer.example/')),
        access(oids.accessOcsp, der.implicitPrimitive(2, Buffer.from('host.example'))),
        access(oids.accessOcsp, uri('http://two.example/')),
      ),
    });
    expect(ocspUrls).toEqual(['http://one.example/', 'http://two.example/']);
  });

  it("has its issuer's key identifier, which is not the serial number beside it", async () => {
    const identifier = async (...fields: Uint8Array[]): Promise<Uint8Array | undefined> =>
      (await certificate({ [oids.authorityKeyIdentifier]: der.sequence(...fields) })).authorityKeyIdentifier;
    const [key, issuer, serialNumber] = [
      der.implicitPrimitive(0, Uint8Array.of(7)),
      der.implicitConstructed(1, der.explicit(4, name)),
      der.implicitPrimitive(2, Uint8Array.of(9)),
    ];
    expect(Buffer.from((await identifier(key, issuer, serialNumber)) ?? []).toString('hex')).toBe('07');
    expect(await identifier(issuer, serialNumber)).toBeUndefined();
    expect(await identifier()).toBeUndefined();
  });

  it('needs no status if it says so, whatever else it says', async () => {
    expect((await certificate({ [oids.ocspNoCheck]: der.nullValue() })).needsNoStatus).toBe(true);
    expect((await certificate({})).needsNoStatus).toBe(false);
  });

  it('has the mailboxes of its subject, in any of its RDNs', async () => {
    const attribute = (type: string, value: Uint8Array): Uint8Array => der.sequence(der.oid(type), value);
    const subject = der.sequence(
      der.set(attribute(oids.commonName, der.utf8String('c@example.org'))),
      der.setOf([attribute(oids.emailAddress, der.ia5String('a@example.org')), attribute(oids.commonName, der.utf8String('x'))]),
      der.set(attribute(oids.emailAddress, der.ia5String('b@example.org'))),
    );
    expect((await certificate({}, { subject })).subjectMailboxes.toSorted()).toEqual(['a@example.org', 'b@example.org']);
  });

  it('is self-signed by its own key and under its own name', async () => {
    const stranger = subjectName({ country: 'FR', commonName: 'Stranger' });
    expect(isSelfSigned(await certificate({}))).toBe(true);
    expect(isSelfSigned(await certificate({}, { issuer: stranger }))).toBe(false);
    expect(isSelfSigned(await certificate({}, { keys: other }))).toBe(false);
  });
});
