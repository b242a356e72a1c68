import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { DerError } from '../../../src/asn1/reader.ts';
import { maxCertIds, maxOcspRequestBytes, parseOcspRequest } from '../../../src/certificates/ocsp/ocsp-request.ts';
import { softwareAuthority } from '../software-authority.ts';
import { openssl } from '../../support/openssl.ts';
import { certId, extension, nonceExtension, ocspRequest } from './requests.ts';

const { issuer } = await softwareAuthority('P-256');
const one = certId(issuer.certificate, '0a0b');
const good = ocspRequest([one]);

function refused(bytes: Uint8Array): void {
  expect(() => parseOcspRequest(bytes)).toThrow(DerError);
}

describe('an OCSP request', () => {
  it('is read in the same way as by OpenSSL', () => {
    const request = ocspRequest([one, certId(issuer.certificate, 'ff00', 'sha256')], nonceExtension(Buffer.from('0102', 'hex')));
    expect(parseOcspRequest(request)).toMatchObject({
      certIds: [
        { hash: 'sha1', serialNumber: '0a0b' },
        { hash: 'sha256', serialNumber: 'ff00' },
      ],
      nonce: Uint8Array.of(1, 2),
    });
    const text = openssl(['ocsp', '-reqin', '{request}', '-req_text'], { request });
    expect(text).toMatch(/Serial Number: 0A0B[^]*Serial Number: FF00[^]*OCSP Nonce/);
  });

  it('may have what some clients add: a version, a name, a signature, extensions of single requests, no parameters of the hash', () => {
    const list = (...parts: Uint8Array[]): Uint8Array => der.sequence(der.sequence(...parts));
    const version = der.explicit(0, der.integer(0));
    const name = der.explicit(1, der.explicit(4, issuer.certificate.subject));
    const signature = der.explicit(0, der.sequence(der.sequence(der.oid(oids.ecdsaWithSHA256)), der.bitString(Buffer.of(1))));
    const single = der.explicit(0, der.sequence(extension('1.3.6.1.5.5.7.48.1.7', der.sequence())));
    const request = der.sequence(der.sequence(version, name, list(certId(issuer.certificate, '01', 'sha512', []), single)), signature);
    expect(parseOcspRequest(request)).toMatchObject({ certIds: [{ hash: 'sha512' }] });
  });

  it('has a nonce of 1 to 128 octets (RFC 9654 2.1)', () => {
    for (const length of [1, 16, 32, 128]) {
      const nonce = Uint8Array.from(randomBytes(length));
      expect(parseOcspRequest(ocspRequest([one], nonceExtension(nonce))).nonce).toEqual(nonce);
    }
    for (const length of [0, 129, 1000]) refused(ocspRequest([one], nonceExtension(randomBytes(length))));
    refused(ocspRequest([one], extension(oids.ocspNonce, randomBytes(16).fill(0x30))));
  });

  it('asks for 1 to 16 certificates, in 8 KiB', () => {
    const many = (count: number): Uint8Array => ocspRequest(Array.from({ length: count }, () => one));
    expect(parseOcspRequest(many(maxCertIds)).certIds).toHaveLength(maxCertIds);
    refused(many(maxCertIds + 1));
    refused(many(0));
    refused(ocspRequest([one], extension('1.2.3', new Uint8Array(maxOcspRequestBytes))));
  });

  it('is refused with an unknown critical extension, a repeated extension, or an empty list of extensions', () => {
    refused(ocspRequest([one], extension('1.2.3', der.nullValue(), true)));
    refused(ocspRequest([one], nonceExtension(Buffer.of(1)), nonceExtension(Buffer.of(1))));
    expect(parseOcspRequest(ocspRequest([one], extension('1.2.3', der.nullValue()))).nonce).toBeUndefined();
    refused(der.sequence(der.sequence(der.sequence(der.sequence(one)), der.explicit(2, der.sequence()))));
  });

  it('is refused with a hash of the wrong length, another version, or an invalid serial number', () => {
    const algorithm = der.sequence(der.oid(oids.sha1), der.nullValue());
    const short = der.octetString(new Uint8Array(19));
    const full = der.octetString(new Uint8Array(20));
    refused(ocspRequest([der.sequence(algorithm, short, full, der.integer(1))]));
    refused(ocspRequest([der.sequence(algorithm, full, short, der.integer(1))]));
    refused(ocspRequest([der.sequence(algorithm, full, full, der.tagged(0x02, Buffer.of(0, 1)))]));
    refused(ocspRequest([der.sequence(algorithm, full, full, der.tagged(0x02))]));
    refused(ocspRequest([der.sequence(algorithm, full, full, der.integer(randomBytes(21).fill(1)))]));
    refused(der.sequence(der.sequence(der.explicit(0, der.integer(1)), der.sequence(der.sequence(one)))));
  });

  it('is either read or refused with a DerError, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        refused(bytes);
      }),
    );
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 }), fc.nat(good.length), (at, octet, cut) => {
        const changed = Uint8Array.from(good);
        changed[at] = octet;
        for (const bytes of [changed, good.subarray(0, cut)]) {
          try {
            expect(parseOcspRequest(bytes).certIds).toHaveLength(1);
          } catch (error) {
            if (!(error instanceof DerError)) throw error;
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('is read back as it was written', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.bigInt({ min: 1n, max: 2n ** 159n }), fc.constantFrom('sha1', 'sha256', 'sha384', 'sha512')), {
          minLength: 1,
          maxLength: maxCertIds,
        }),
        fc.option(fc.uint8Array({ minLength: 1, maxLength: 128 })),
        (asked, nonce) => {
          const ids = asked.map(([serial, algorithm]) => certId(issuer.certificate, hex(serial), algorithm));
          const read = parseOcspRequest(ocspRequest(ids, ...(nonce === null ? [] : [nonceExtension(nonce)])));
          expect(read.certIds.map((id) => BigInt(`0x${id.serialNumber}`))).toEqual(asked.map(([serial]) => serial));
          expect(read.certIds.map((id) => Buffer.compare(id.der, ids[read.certIds.indexOf(id)] ?? good))).toEqual(asked.map(() => 0));
          expect(read.nonce ?? null).toEqual(nonce);
        },
      ),
    );
  });
});

function hex(number: bigint): string {
  const text = number.toString(16);
  return text.padStart(text.length + (text.length % 2), '0');
}
