import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { children, readAll } from '../../src/asn1/reader.ts';
import {
  algorithmOfOid,
  nameOfUnsupported,
  readSignatureAlgorithm,
  signatureAlgorithmIdentifier,
} from '../../src/cms/algorithm-identifier.ts';
import { areAttributes } from '../../src/cms/attributes-as-content.ts';
import { beginsAsSignedData, readSignedData } from '../../src/cms/read-signed-data.ts';
import { readSignerInfo } from '../../src/cms/read-signer-info.ts';
import { signedData } from '../../src/cms/signed-data.ts';

/** So many elements of two octets. */
const empties = (count: number, tag: number): Uint8Array => Buffer.alloc(2 * count, Buffer.of(tag, 0));
/** Elements of indefinite length within each other, around what they hold. */
const nested = (depth: number, tag: number, inner: Uint8Array = new Uint8Array()): Uint8Array =>
  Buffer.concat([Buffer.alloc(2 * depth, Buffer.of(tag, 0x80)), inner, Buffer.alloc(2 * depth)]);
/** Elements of which each holds the rest, of definite length. */
const within = (depth: number): Uint8Array => (depth === 0 ? new Uint8Array() : der.sequence(within(depth - 1)));

describe('a SignedData', () => {
  const made = (
    octets: Uint8Array,
    { certificates = [], signerInfos = [] }: { certificates?: readonly Uint8Array[]; signerInfos?: readonly Uint8Array[] } = {},
  ): Buffer => {
    const body = [der.integer(1), der.set(), der.sequence(der.oid(oids.data), der.explicit(0, octets))];
    const others = [der.implicitConstructed(0, der.concat(...certificates)), der.set(...signerInfos)];
    return Buffer.from(der.sequence(der.oid(oids.signedData), der.explicit(0, der.sequence(...body, ...others))));
  };
  const read = (bytes: Uint8Array) => (): unknown => readSignedData(bytesInMemory(bytes));
  const octets = der.octetString(Buffer.of(1));

  it('has 2^20 elements at most', () => {
    // ContentInfo, type, [0], SignedData, version, digests, encapsulated content, its type, [0], the octets, certificates, signatures.
    const parts = (count: number): Uint8Array => der.tagged(0x24, empties(count, 0x04));
    expect(read(made(parts(2 ** 20 - 12)))).not.toThrow();
    expect(read(made(parts(2 ** 20 - 11)))).toThrow('more than 1048576 elements');
  });

  it('has 24 levels at most, where their lengths are not told, and where content is in parts', () => {
    // Six are around the content, and four around a certificate.
    expect(read(made(nested(19, 0x24, octets)))).not.toThrow();
    expect(read(made(nested(20, 0x24, octets)))).toThrow('nested too deeply');
    const certificates = (depth: number): Uint8Array => made(octets, { certificates: [nested(depth, 0x30)] });
    expect(read(certificates(20))).not.toThrow();
    expect(read(certificates(21))).toThrow('nested too deeply');
    expect(read(made(octets, { certificates: [within(100)] }))).not.toThrow();
  });

  it('has 16 MiB besides its content at most, in all its sets together', () => {
    const max = 16 * 1024 * 1024;
    const sized = (bytes: number): Uint8Array => der.octetString(Buffer.alloc(bytes - 5));
    expect(read(made(octets, { certificates: [sized(max)] }))).not.toThrow();
    expect(read(made(octets, { certificates: [sized(max + 1)] }))).toThrow(`more than ${max} octets besides the content`);
    const both = (certificate: number): Uint8Array => made(octets, { certificates: [sized(certificate)], signerInfos: [der.nullValue()] });
    expect(read(both(max - 2))).not.toThrow();
    expect(read(both(max - 1))).toThrow(`more than ${max} octets besides the content`);
    expect(read(made(der.octetString(Buffer.alloc(max + 1))))).not.toThrow();
  });

  it('is not read where its type is too long for one', () => {
    const header = Buffer.from('3084400000ff06844000000006092a', 'hex');
    const windowAt = (offset: number): Uint8Array => {
      if (offset >= header.length) throw new RangeError('more was read');
      return header.subarray(offset);
    };
    expect(() => readSignedData({ bytes: 2 ** 30 + 2 ** 16, windowAt })).toThrow('not an OBJECT IDENTIFIER');
  });

  it('is known by its first 32 octets', () => {
    const begins = (lengthOctets: number): boolean =>
      beginsAsSignedData(
        bytesInMemory(Buffer.concat([Buffer.of(0x30, 0x80 + lengthOctets), Buffer.alloc(lengthOctets), der.oid(oids.signedData)])),
      );
    expect([begins(19), begins(20)]).toEqual([true, false]);
  });

  it('has no sets of certificates and of revocation data that are empty', () => {
    const parts = { digestAlgorithms: [], contentType: oids.data, content: undefined, signerInfos: [] };
    const tagsOf = (certificates: readonly Uint8Array[], revocationData: readonly Uint8Array[]): number[] => {
      const pieces = signedData({ ...parts, certificates, revocationData });
      const [, wrapped] = children(readAll(Buffer.concat(pieces.map((piece) => (piece instanceof Uint8Array ? piece : Buffer.alloc(0))))));
      const [body] = wrapped === undefined ? [] : children(wrapped);
      return body === undefined ? [] : children(body).map(({ tag }) => tag);
    };
    const one = der.sequence();
    expect(tagsOf([], [])).toEqual([0x02, 0x31, 0x30, 0x31]);
    expect(tagsOf([one], [])).toEqual([0x02, 0x31, 0x30, 0xa0, 0x31]);
    expect(tagsOf([], [one])).toEqual([0x02, 0x31, 0x30, 0xa1, 0x31]);
  });

  it('is written without a copy of content of 64 KiB and more', () => {
    const copies = (bytes: number): boolean => {
      const content = Buffer.alloc(bytes);
      const parts = { digestAlgorithms: [], contentType: oids.data, certificates: [], revocationData: [], signerInfos: [] };
      return !signedData({ ...parts, content: [content] }).includes(content);
    };
    expect([copies(64 * 1024 - 1), copies(64 * 1024)]).toEqual([true, false]);
  });
});

describe('a SignerInfo', () => {
  const algorithm = der.sequence(der.oid('1.2.3'));
  const made = (attributes: Uint8Array, more: Uint8Array = new Uint8Array()): Uint8Array =>
    der.sequence(
      ...[der.integer(1), der.sequence(), algorithm],
      ...[der.implicitConstructed(0, attributes), algorithm, der.octetString(Buffer.of(1)), more],
    );
  const read = (bytes: Uint8Array) => (): unknown => readSignerInfo(bytes);

  it('has 10,000 elements at most', () => {
    // SignerInfo, version, signer, digest algorithm, attributes, signature algorithm, value.
    expect(read(made(empties(9_993, 0x05)))).not.toThrow();
    expect(read(made(empties(9_994, 0x05)))).toThrow('more than 10000 elements');
  });

  it('has 24 levels at most, where their lengths are not told', () => {
    // One is around what is not signed.
    expect(read(made(empties(1, 0x05), nested(23, 0xa1)))).not.toThrow();
    expect(read(made(empties(1, 0x05), nested(24, 0xa1)))).toThrow('nested too deeply');
  });
});

describe('content that could be signed attributes', () => {
  const made = (value: Uint8Array): Uint8Array => der.set(der.sequence(der.oid(oids.messageDigest), der.set(value)));
  const isKnown = (value: Uint8Array): boolean => areAttributes(bytesInMemory(made(value)));

  it('is known up to 2^20 elements', () => {
    expect([isKnown(empties(2 ** 20 - 4, 0x05)), isKnown(empties(2 ** 20 - 3, 0x05))]).toEqual([true, false]);
  });

  it('is not passed over where it cannot be read', () => {
    const windowAt = (): never => {
      throw new RangeError('the file cannot be read');
    };
    expect(() => areAttributes({ bytes: 100, windowAt })).toThrow('the file cannot be read');
  });

  it('is known up to 24 levels', () => {
    expect([isKnown(nested(21, 0x30)), isKnown(nested(22, 0x30))]).toEqual([true, false]);
  });
});

it('an algorithm that is not supported is named by 64 characters of its OID at most', () => {
  const named = (oid: string): string => nameOfUnsupported(readAll(der.sequence(der.oid(oid))));
  const exact = `1.2${'.1'.repeat(29)}.11`;
  expect([named(exact), named(`${exact}1`)]).toEqual([exact, exact]);
  expect(nameOfUnsupported(readAll(der.sequence()))).toBe('unnamed');
});

it.each([
  ['sha1', 'sha1', 20, []],
  ['sha256', 'sha1', 20, [0xa0]],
  ['sha1', 'sha256', 20, [0xa1]],
  ['sha1', 'sha1', 19, [0xa2]],
  ['sha1', 'sha1', 21, [0xa2]],
  ['sha1', 'sha1', 0, [0xa2]],
  ['sha512', 'sha384', 64, [0xa0, 0xa1, 0xa2]],
] as const)(
  'PSS by %s, %s and %i octets of salt names what is not the default, and is read so (RFC 4055 §3.1)',
  (hash, mgfHash, saltBytes, tags) => {
    const algorithm = { scheme: 'RSA_PSS', hash, mgfHash, saltBytes } as const;
    const identifier = readAll(signatureAlgorithmIdentifier(algorithm));
    const [, parameters] = children(identifier);
    expect(parameters === undefined ? undefined : children(parameters).map(({ tag }) => tag)).toEqual(tags);
    expect(readSignatureAlgorithm(identifier, 'sha512')).toEqual(algorithm);
  },
);

it('PSS by SHA-224, whatever it is for, is not supported in a signature', () => {
  const hash = (last: number): Uint8Array => der.sequence(der.oid(`2.16.840.1.101.3.4.2.${last}`), der.nullValue());
  const read = (content: number, mask: number): unknown => {
    const parameters = der.sequence(der.explicit(0, hash(content)), der.explicit(1, der.sequence(der.oid(oids.mgf1), hash(mask))));
    return readSignatureAlgorithm(readAll(der.sequence(der.oid(oids.rsassaPss), parameters)), 'sha256');
  };
  const [sha224, sha256] = [4, 1];
  expect(read(sha256, sha256)).toEqual({ scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha256', saltBytes: 20 });
  expect([read(sha224, sha256), read(sha256, sha224)]).toEqual([undefined, undefined]);
});

it.each([
  ['1.2.840.113549.1.1.10', { scheme: 'RSA_PSS' }],
  ['1.2.840.113549.1.1.11', { scheme: 'RSA_PKCS1', hash: 'sha256' }],
  ['1.2.840.113549.1.1.12', { scheme: 'RSA_PKCS1', hash: 'sha384' }],
  ['1.2.840.113549.1.1.13', { scheme: 'RSA_PKCS1', hash: 'sha512' }],
  ['1.2.840.10045.4.3.2', { scheme: 'ECDSA', hash: 'sha256' }],
  ['1.2.840.10045.4.3.3', { scheme: 'ECDSA', hash: 'sha384' }],
  ['1.2.840.10045.4.3.4', { scheme: 'ECDSA', hash: 'sha512' }],
  ['1.2.840.113549.1.1.5', undefined],
  ['1.2.840.10045.4.1', undefined],
  ['1.2.840.113549.1.1.1', undefined],
  ['', undefined],
])('the algorithm of a new signature is named by its OID, and by no SHA-1: %s', (oid, algorithm) => {
  expect(algorithmOfOid(oid)).toEqual(algorithm);
});
