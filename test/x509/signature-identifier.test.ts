import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { DerError, readAll } from '../../src/asn1/reader.ts';
import { readSignatureIdentifier, verificationRule } from '../../src/x509/signature-identifier.ts';
import { readSignatureAlgorithm, signatureAlgorithmIdentifier } from '../../src/cms/algorithm-identifier.ts';
import { hashNames, type SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';

const hash = fc.constantFrom(...hashNames);
const algorithm: fc.Arbitrary<SignatureAlgorithm> = fc.oneof(
  fc.record({ scheme: fc.constantFrom('RSA_PKCS1' as const, 'ECDSA' as const), hash }),
  fc.record({ scheme: fc.constant('RSA_PSS' as const), hash, mgfHash: hash, saltBytes: fc.integer({ min: 0, max: 0x7fff }) }),
);

const named = (...parts: Uint8Array[]): ReturnType<typeof readAll> => readAll(der.sequence(...parts));
const pssWith = (...members: Uint8Array[]): ReturnType<typeof readAll> => named(der.oid(oids.rsassaPss), der.sequence(...members));

describe('the AlgorithmIdentifier of a signature', () => {
  it('is read as it is written, whatever the algorithm', () => {
    fc.assert(
      fc.property(algorithm, (written) => {
        expect(readSignatureAlgorithm(readAll(signatureAlgorithmIdentifier(written)), 'sha256')).toEqual(written);
      }),
    );
  });

  it('throws nothing but DerError, whatever its octets are', () => {
    const octets = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      fc.record({ written: algorithm, at: fc.nat(), octet: fc.nat(255) }).map(({ written, at, octet }) => {
        const bytes = Buffer.from(signatureAlgorithmIdentifier(written));
        bytes[at % bytes.length] = octet;
        return bytes;
      }),
    );
    fc.assert(
      fc.property(octets, (bytes) => {
        try {
          readSignatureIdentifier(readAll(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(DerError);
        }
      }),
    );
  });

  it('has the defaults of RSASSA-PSS where its parameters are empty, and is not understood where it has none', () => {
    expect(readSignatureIdentifier(pssWith())).toEqual({ scheme: 'RSA_PSS', hash: 'sha1', mgfHash: 'sha1', saltBytes: 20 });
    expect(readSignatureIdentifier(named(der.oid(oids.rsassaPss)))).toBeUndefined();
  });

  it('has no salt of less than no octets', () => {
    expect(() => readSignatureIdentifier(pssWith(der.explicit(2, der.tagged(0x02, Uint8Array.of(0xff)))))).toThrow(DerError);
  });

  it('has no other trailer of RSASSA-PSS than 1', () => {
    const withTrailer = (trailer: number): unknown => readSignatureIdentifier(pssWith(der.explicit(3, der.integer(trailer))));
    expect(withTrailer(1)).toMatchObject({ scheme: 'RSA_PSS' });
    expect(withTrailer(2)).toBeUndefined();
  });

  it('may name the algorithm of the key alone in CMS, where the hash stands beside it, and nowhere else', () => {
    const bare = named(der.oid(oids.rsaEncryption), der.nullValue());
    expect(readSignatureAlgorithm(bare, 'sha384')).toEqual({ scheme: 'RSA_PKCS1', hash: 'sha384' });
    expect(() => verificationRule(bare)).toThrow(DerError);
  });

  it('may name SHA-224 where a certificate is judged, and not in CMS', () => {
    const old = named(der.oid(oids.ecdsaWithSHA224));
    expect(verificationRule(old)).toEqual({ scheme: 'ECDSA', hash: 'sha224' });
    expect(readSignatureAlgorithm(old, 'sha256')).toBeUndefined();
  });

  it('may name two hashes for RSASSA-PSS', () => {
    const written = { scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha512', saltBytes: 32 } as const;
    const two = readAll(signatureAlgorithmIdentifier(written));
    expect(readSignatureAlgorithm(two, 'sha256')).toEqual(written);
    expect(verificationRule(two)).toEqual(written);
  });
});
