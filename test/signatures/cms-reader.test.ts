import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BerCursor } from '../../src/asn1/ber-cursor.ts';
import { bytesInMemory, type ByteSource } from '../../src/asn1/byte-source.ts';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { children, DerError, readAll, type DerElement } from '../../src/asn1/reader.ts';
import { earlierSignatures } from '../../src/signatures/cms/earlier-signatures.ts';
import { readSignedData } from '../../src/cms/read-signed-data.ts';
import { readSignerInfo } from '../../src/cms/read-signer-info.ts';
import { checkSignerInfos, SignatureBroken } from '../../src/cms/verify-signer-info.ts';
import { Refusal } from '../../src/result-codes.ts';
import { joined, signedBy, softwareSigner } from './software-signer.ts';

const signer = softwareSigner('reader');
const content = Buffer.from('what is signed '.repeat(20));
const cms = joined(signedBy(signer, content));

/** The source in windows of a few bytes, as a file has it at the ends of its blocks. */
const inSmallWindows = (bytes: Uint8Array, size: number): ByteSource => ({
  bytes: bytes.length,
  windowAt: (offset) => bytes.subarray(offset, offset + size),
});

/** The same structure, with lengths as BER lets them be, and octets in parts: what is chosen comes from the numbers. */
function berOf(element: DerElement, choice: () => number, depth = 0): Buffer {
  // Certificates and SignerInfos are taken as they stand.
  if ((depth === 4 && element.tag === 0x30) || (!element.constructed && element.tag !== 0x04)) return Buffer.from(element.raw);
  if (element.tag === 0x04) {
    if (choice() % 2 === 0) return Buffer.from(element.raw);
    const at = element.content.length === 0 ? 0 : choice() % element.content.length;
    const parts = [der.octetString(element.content.subarray(0, at)), der.tagged(0x24, der.octetString(element.content.subarray(at)))];
    return berElement(0x24, Buffer.concat(parts), choice());
  }
  return berElement(element.tag, Buffer.concat(children(element).map((part) => berOf(part, choice, depth + 1))), choice());
}

function berElement(tag: number, inner: Buffer, choice: number): Buffer {
  if (choice % 3 === 0) return Buffer.concat([Buffer.of(tag, 0x80), inner, Buffer.of(0, 0)]);
  if (choice % 3 === 1) return Buffer.from(der.tagged(tag, inner));
  const length = Buffer.alloc(5);
  length.writeUInt8(0x84);
  length.writeUInt32BE(inner.length, 1);
  return Buffer.concat([Buffer.of(tag), length, inner]);
}

const contentIn = (bytes: Uint8Array): Buffer =>
  Buffer.concat((readSignedData(bytesInMemory(bytes)).content ?? []).map(({ start, end }) => bytes.subarray(start, end)));

/** Everything that reads a document of a caller. Only what it may throw passes. */
function readEverything(bytes: Uint8Array): 'read' | 'refused' {
  try {
    const earlier = earlierSignatures(bytes);
    if (earlier !== undefined) checkSignerInfos(earlier.signerInfos, earlier.certificates, earlier);
    return 'read';
  } catch (error) {
    if (error instanceof Refusal || error instanceof SignatureBroken) return 'refused';
    throw error;
  }
}

describe('the reader of SignedData', () => {
  it('reads the same out of every form that BER has for it, and verifies it', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 90 }), (choices, windowBytes) => {
        let next = 0;
        const ber = berOf(readAll(cms), () => choices[next++ % choices.length] ?? 0);
        const read = readSignedData(inSmallWindows(ber, windowBytes));
        expect(contentIn(ber).equals(content)).toBe(true);
        expect([read.certificates.length, read.signerInfos.length, read.digestAlgorithms.length]).toEqual([1, 1, 1]);
        expect(readEverything(ber)).toBe('read');
      }),
    );
  });

  it('refuses what is cut anywhere, and what has bytes behind it', () => {
    for (let end = 0; end < cms.length; end += 1) expect(() => readSignedData(bytesInMemory(cms.subarray(0, end)))).toThrow(DerError);
    expect(() => readSignedData(bytesInMemory(Buffer.concat([cms, Buffer.of(0, 0)])))).toThrow(DerError);
  });

  it('reads or refuses what was changed, cut out or put in anywhere, and nothing else happens', () => {
    const change = fc.record({ at: fc.nat(cms.length - 1), remove: fc.nat(40), insert: fc.uint8Array({ maxLength: 12 }) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        let bytes = Buffer.from(cms);
        for (const { at, remove, insert } of changes) bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + remove)]);
        readEverything(bytes);
      }),
      { numRuns: 2000 },
    );
  });

  it('holds no signature good that has one bit changed in what is signed', () => {
    const [signerInfo = new Uint8Array()] = readSignedData(bytesInMemory(cms)).signerInfos;
    const { signedAttributes = new Uint8Array(), signature } = readSignerInfo(signerInfo);
    const within = (part: Uint8Array): fc.Arbitrary<number> => {
      const start = cms.indexOf(part);
      return fc.integer({ min: start, max: start + part.length - 1 });
    };
    const places = fc.oneof(within(content), within(readAll(signedAttributes).content), within(signature));
    fc.assert(
      fc.property(places, fc.nat(7), (at, bit) => {
        const changed = Buffer.from(cms);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        expect(readEverything(changed)).toBe('refused');
      }),
      { numRuns: 600 },
    );
  });

  it.each([
    ['a length of 2^63', Buffer.from('30887fffffffffffffff', 'hex')],
    ['a length beyond the file', Buffer.from('3084ffffffff06092a864886f70d010702', 'hex')],
    ['a length of 127 octets', Buffer.from('30ff', 'hex')],
    ['an indefinite length without end', Buffer.from('308006092a864886f70d010702a080', 'hex')],
    ['an indefinite length of a primitive', Buffer.from('30800680', 'hex')],
    ['a tag number above 30', Buffer.from('3f8101', 'hex')],
    ['end-of-contents octets with content', Buffer.from('308006092a864886f70d0107020001ff', 'hex')],
    ['nothing', Buffer.alloc(0)],
  ])('refuses %s', (_name, bytes) => {
    expect(() => readSignedData(bytesInMemory(bytes))).toThrow(DerError);
  });

  it('ends at once for what is nested a million deep, and for a million empty elements', () => {
    const deep = Buffer.alloc(2_000_000, Buffer.from('a080', 'hex'));
    const many = Buffer.alloc(4_000_000, Buffer.from('3000', 'hex'));
    const head = Buffer.from('308006092a864886f70d010702a080308002010131803080', 'hex');
    for (const body of [deep, many]) {
      const began = performance.now();
      expect(() => readSignedData(bytesInMemory(Buffer.concat([head, body])))).toThrow(DerError);
      expect(performance.now() - began).toBeLessThan(10_000);
    }
  });

  it('holds at most 16 MiB beside the content', () => {
    const big = joined(signedBy(signer, content));
    const parts = readSignedData(bytesInMemory(big));
    const revocationData = der.implicitConstructed(1, der.sequence(new Uint8Array(17 * 1024 * 1024)));
    const body = children(readAll(big))[1];
    const fields = body === undefined ? [] : children(children(body)[0] ?? body).map(({ raw }) => raw);
    const forged = der.sequence(
      der.oid(oids.signedData),
      der.explicit(0, der.sequence(...fields.slice(0, 4), revocationData, ...fields.slice(4))),
    );
    expect(parts.signerInfos.length).toBe(1);
    expect(() => readSignedData(bytesInMemory(forged))).toThrow(/octets besides the content/);
  });

  it('reads no SignerInfo out of other bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => readSignerInfo(bytes)).toThrow(DerError);
      }),
    );
  });
});

describe('BerCursor', () => {
  it('steps over elements whatever their lengths are, and goes into them and out of them at the same places', () => {
    const tree = fc.letrec<{ node: Buffer; leaf: Buffer }>((tie) => ({
      leaf: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(der.octetString(bytes))),
      node: fc.oneof(
        { maxDepth: 5 },
        tie('leaf'),
        fc
          .tuple(fc.array(tie('node'), { maxLength: 4 }), fc.nat())
          .map(([parts, choice]) => berElement(0x30, Buffer.concat(parts), choice)),
      ),
    })).node;
    fc.assert(
      fc.property(tree, fc.integer({ min: 1, max: 64 }), (bytes, windowBytes) => {
        const over = new BerCursor(inSmallWindows(bytes, windowBytes), { elementsMax: 10_000, depthMax: 10 });
        expect(over.skip()).toEqual({ start: 0, end: bytes.length });
        over.end();
        const through = new BerCursor(inSmallWindows(bytes, windowBytes), { elementsMax: 10_000, depthMax: 10 });
        const walk = (): void => {
          if (through.tag === 0x04) through.primitive(0x04);
          else {
            through.open(0x30);
            while (through.tag !== undefined) walk();
            through.close();
          }
        };
        walk();
        through.end();
      }),
    );
  });

  it('counts elements of all levels', () => {
    const bytes = der.sequence(...Array.from({ length: 20 }, () => der.nullValue()));
    expect(new BerCursor(bytesInMemory(bytes), { elementsMax: 21, depthMax: 2 }).skip().end).toBe(bytes.length);
    const cursor = new BerCursor(bytesInMemory(bytes), { elementsMax: 20, depthMax: 2 });
    cursor.open(0x30);
    expect(() => {
      while (cursor.tag !== undefined) cursor.skip();
    }).toThrow(/more than 20 elements/);
  });
});
