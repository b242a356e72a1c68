import { describe, expect, test } from 'vitest';
import { array, assert, constantFrom, integer, property, uint8Array } from 'fast-check';
import * as der from '../../../src/asn1/der.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { DerError } from '../../../src/asn1/reader.ts';
import { PathFault } from '../../../src/x509/path/path-fault.ts';
import { findPath, validPaths } from '../../../src/x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { basicConstraints, extendedKeyUsage, extension, generalNames, keyUsage } from '../../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../../src/certificates/subject.ts';
import { rsaPublicKey } from '../../support/forged-values.ts';
import { at, authority, certified, entity, type Entity } from './scratch-certificates.ts';

type Extensions = readonly ReturnType<typeof extension>[];

const root = entity('Root');
const issuing = entity('Issuing');
const person = entity('Person');
const anchor = await certified(root, root, authority);
const faultOf = (target: PathCertificate, intermediates: PathCertificate[], purpose?: string): string => {
  try {
    findPath(target, { anchors: [anchor], intermediates }, { at, purpose });
    return 'valid';
  } catch (error) {
    if (error instanceof PathFault) return error.message;
    throw error;
  }
};

const indexOf = (target: PathCertificate, intermediates: PathCertificate[]): number | undefined => {
  try {
    findPath(target, { anchors: [anchor], intermediates }, { at });
    return undefined;
  } catch (error) {
    if (error instanceof PathFault) return error.index;
    throw error;
  }
};

describe('a path', () => {
  test('that has an end is found among renewed and ended certificates of the same authority', async () => {
    const ended = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2021-01-01T00:00:00Z') };
    const old = await certified(issuing, root, authority, ended);
    const present = await certified(issuing, root, authority);
    const target = await certified(person, issuing, []);
    const found = findPath(target, { anchors: [anchor], intermediates: [old, present] }, { at });
    expect(found.path.map((one) => one.der)).toEqual([present.der, target.der]);
    expect(faultOf(target, [old])).toContain('not valid after 2021');
  });

  test('goes through a ring of cross-certificates without end, and through one without a way out', async () => {
    const ring = Array.from({ length: 8 }, (_, index) => entity(`Ring ${index}`));
    const crosses = await Promise.all(
      ring.flatMap((subject) => ring.filter((issuer) => issuer !== subject).map(async (issuer) => certified(subject, issuer, authority))),
    );
    const first = ring[0] ?? root;
    const target = await certified(person, ring[7] ?? root, []);
    expect(faultOf(target, crosses)).toBe('no path from a trust anchor');
    const wayOut = await certified(first, root, authority);
    expect(faultOf(target, [wayOut, ...crosses])).toBe('valid');
  });

  test('serves for the purposes of all certificates in it', async () => {
    const stamping = [extendedKeyUsage([oids.timeStamping])];
    const open = await certified(issuing, root, authority);
    const limited = await certified(issuing, root, [...authority, extendedKeyUsage([oids.ocspSigning])]);
    const any = await certified(issuing, root, [...authority, extendedKeyUsage([oids.anyExtendedKeyUsage])]);
    const target = await certified(person, issuing, stamping);
    expect(faultOf(target, [open], oids.timeStamping)).toBe('valid');
    expect(faultOf(target, [any], oids.timeStamping)).toBe('valid');
    expect(faultOf(target, [limited], oids.timeStamping)).toContain('extended key usage');
    expect(faultOf(await certified(person, issuing, []), [open], oids.timeStamping)).toContain('extended key usage');
  });

  test('of the trust anchor itself is empty', () => {
    expect(findPath(anchor, { anchors: [anchor], intermediates: [] }, { at }).path).toEqual([]);
  });

  test('of a trust anchor below another one is empty, or begins at that one', async () => {
    const both = await certified(issuing, root, authority);
    const found = [...validPaths(both, { anchors: [anchor, both], intermediates: [] }, { at })];
    expect(found.map(({ anchor: from, path }) => [from.der, path.length])).toEqual([
      [both.der, 0],
      [anchor.der, 1],
    ]);
  });

  test('of several can be taken one after the other', async () => {
    const [one, two] = await Promise.all([certified(issuing, root, authority), certified(issuing, root, authority)]);
    const target = await certified(person, issuing, []);
    const found = [...validPaths(target, { anchors: [anchor], intermediates: [one, two] }, { at })];
    expect(found.map(({ path }) => path[0]?.der)).toEqual([one.der, two.der]);
  });
});

describe('the search', () => {
  const found = (target: PathCertificate, intermediates: PathCertificate[]): Uint8Array[][] =>
    [...validPaths(target, { anchors: [anchor], intermediates }, { at })].map(({ path }) => path.map((one) => one.der));

  test('does not go through the same authority twice; one with two names is two', async () => {
    const [one, two] = [entity('One'), entity('Two')];
    const [byRoot, oneByTwo, twoByOne] = [
      await certified(one, root, authority),
      await certified(one, two, authority),
      await certified(two, one, authority),
    ];
    const target = await certified(person, one, []);
    expect(found(target, [byRoot, oneByTwo, twoByOne])).toEqual([[byRoot.der, target.der]]);
    const renamed = { ...one, name: subjectName({ country: 'FR', commonName: 'One, renamed' }) };
    const renewal = await certified(renamed, one, authority);
    const below = await certified(person, renamed, []);
    expect(found(below, [byRoot, renewal])).toEqual([[byRoot.der, renewal.der, below.der]]);
  });

  test('takes paths of 12 certificates, and no longer ones', async () => {
    const entities = Array.from({ length: 12 }, (_, index) => entity(`Depth ${index}`));
    const chain = await Promise.all(entities.map(async (one, index) => certified(one, entities[index - 1] ?? root, authority)));
    const target = async (below: number): Promise<PathCertificate> => certified(person, entities[below] ?? root, []);
    expect(faultOf(await target(10), chain)).toBe('valid');
    expect(faultOf(await target(11), chain)).toBe('no path from a trust anchor');
  });

  test('looks at 500 certificates, and no further', async () => {
    const elsewhere = entity('Elsewhere');
    const [deadEnd, wayOut] = await Promise.all([certified(issuing, elsewhere, authority), certified(issuing, root, authority)]);
    const target = await certified(person, issuing, []);
    const behind = (count: number): string => faultOf(target, [...Array.from({ length: count }, () => deadEnd), wayOut]);
    expect(behind(498)).toBe('valid');
    expect(behind(499)).toBe('no path from a trust anchor');
  });

  test('tries first what is valid and has the key identifier that the certificate names', async () => {
    const identified = (octets: number): Extensions => [
      ...authority,
      extension(oids.subjectKeyIdentifier, der.octetString(Uint8Array.of(octets))),
    ];
    const ended = { notBefore: new Date('2020-01-01T00:00:00Z'), notAfter: new Date('2021-01-01T00:00:00Z') };
    const coming = { notBefore: new Date('2030-01-01T00:00:00Z'), notAfter: new Date('2031-01-01T00:00:00Z') };
    const [right, plain, wrong, past, future, pastWrong] = await Promise.all([
      certified(issuing, root, identified(1)),
      certified(issuing, root, authority),
      certified(issuing, root, identified(2)),
      certified(issuing, root, identified(1), ended),
      certified(issuing, root, identified(1), coming),
      certified(issuing, root, identified(2), ended),
    ]);
    const named = extension(oids.authorityKeyIdentifier, der.sequence(der.implicitPrimitive(0, Uint8Array.of(1))));
    const target = await certified(person, issuing, [named]);
    const asked = (...candidates: readonly PathCertificate[]): PathCertificate[] => {
      const order: PathCertificate[] = [];
      const counted = candidates.map((one) => ({
        ...one,
        isSignedBy: (issuer: PathCertificate): boolean => {
          order.push(one);
          return one.isSignedBy(issuer);
        },
      }));
      expect(found(target, counted).length).toBeGreaterThan(0);
      return order;
    };
    expect(asked(pastWrong, wrong, future, past, plain, right)).toEqual([plain, right, future, past, wrong, pastWrong]);
    expect(asked(past, wrong, right)).toEqual([right, past, wrong]);
  });

  test('tells the fault of the last candidate', async () => {
    const notCa = await certified(issuing, root, []);
    const noSigning = await certified(issuing, root, [basicConstraints(), keyUsage(['cRLSign'])]);
    const target = await certified(person, issuing, []);
    expect(faultOf(target, [notCa, noSigning])).toContain('key usage');
    expect(faultOf(target, [noSigning, notCa])).toBe('not a CA certificate');
  });
});

describe('what strangers put into certificates costs a bounded time', () => {
  test('many keys of one name: a path among them is found, a search without end is not made', async () => {
    const other = entity('Other', 'P-521');
    const sameName = (): Entity => ({ ...entity('Issuing', 'P-521'), name: issuing.name });
    const ways = await Promise.all(Array.from({ length: 10 }, async () => certified(issuing, { ...other, name: issuing.name }, authority)));
    const decoys = await Promise.all(Array.from({ length: 60 }, async () => certified(sameName(), issuing, authority)));
    const target = await certified(person, issuing, []);
    let verifications = 0;
    const counted = [...ways, ...decoys].map((one) => ({
      ...one,
      isSignedBy: (issuer: PathCertificate): boolean => {
        verifications += 1;
        return one.isSignedBy(issuer);
      },
    }));
    expect(faultOf(target, counted)).toBe('too many signatures in its certificates');
    // Some are by a key on P-256, which costs less.
    expect(verifications).toBeLessThanOrEqual(60);
    const present = await certified(issuing, root, authority);
    expect(faultOf(target, [present, ...counted])).toBe('valid');
  });

  test('a key beyond the limits of an issuer', async () => {
    const long = { ...issuing, subjectPublicKeyInfo: rsaPublicKey(Buffer.alloc(2048, 0xc5), 65_537n) };
    const target = await certified(person, issuing, []);
    const fault = 'the key of its issuer is an RSA key of 16384 bits, more than 8192';
    const refused = await certified(long, root, authority);
    expect(faultOf(target, [refused])).toBe(fault);
    // It is the first below the anchor that is at fault: there is no path to count in.
    expect(indexOf(target, [refused])).toBe(0);
    expect(faultOf(target, [await certified(long, root, authority), await certified(issuing, root, authority)])).toBe('valid');
  });

  test('a key beyond the limits in the certificate itself', async () => {
    const long = { ...person, subjectPublicKeyInfo: rsaPublicKey(Buffer.alloc(2048, 0xc5), 65_537n) };
    const ca = await certified(issuing, root, authority);
    expect(faultOf(await certified(long, issuing, []), [ca])).toBe('no path from a trust anchor');
    expect(faultOf(await certified(person, issuing, []), [ca])).toBe('valid');
  });

  test('many names beside many constraints', async () => {
    const some = (letter: string, count: number): Uint8Array[] =>
      Array.from({ length: count }, () => der.implicitPrimitive(2, Buffer.from(letter)));
    const constraints = (tag: number, letter: string, count: number): Uint8Array =>
      der.implicitConstructed(tag, der.concat(...some(letter, count).map((one) => der.sequence(one))));
    const withNames = async (tag: number, letter: string, count: number, ...others: PathCertificate[]): Promise<string> => {
      const limits = extension(oids.nameConstraints, der.sequence(constraints(tag, letter, count)), true);
      const ca = await certified(issuing, root, [...authority, limits]);
      const target = await certified(person, issuing, [extension(oids.subjectAltName, der.sequence(...some('a', count)))]);
      return faultOf(target, [ca, ...others]);
    };
    const tooMany = 'too many names and constraints in its certificates';
    for (const [tag, letter] of [
      [0, 'a'],
      [1, 'b'],
    ] as const) {
      expect(await withNames(tag, letter, 100)).toBe('valid');
      expect(await withNames(tag, letter, 1000)).toBe(tooMany);
    }
    // The search ends there, although another path costs less.
    expect(await withNames(1, 'b', 1000, await certified(issuing, root, authority))).toBe(tooMany);
  });
});

describe('name constraints beyond PKITS', () => {
  const constraints = (kind: 'permitted' | 'excluded', base: Uint8Array): Extensions => [
    ...authority,
    extension(oids.nameConstraints, der.sequence(der.implicitConstructed(kind === 'permitted' ? 0 : 1, der.sequence(base))), true),
  ];
  const names = (...all: Uint8Array[]): Extensions => [extension(oids.subjectAltName, der.sequence(...all))];
  const text = (tag: number, value: string): Uint8Array => der.implicitPrimitive(tag, Buffer.from(value, 'latin1'));
  const address = (...octets: number[]): Uint8Array => der.implicitPrimitive(7, Uint8Array.from(octets));
  const other = der.implicitConstructed(0, der.concat(der.oid('1.3.6.1.4.1.311.20.2.3'), der.explicit(0, der.utf8String('x'))));

  test.each([
    ['address in the network', 'permitted', address(10, 0, 0, 0, 255, 0, 0, 0), address(10, 1, 2, 3), 'valid'],
    ['address elsewhere', 'permitted', address(10, 0, 0, 0, 255, 0, 0, 0), address(11, 1, 2, 3), 'a name outside the permitted subtrees'],
    [
      'address of the other length',
      'permitted',
      address(10, 0, 0, 0, 255, 0, 0, 0),
      address(...Array.from({ length: 16 }, () => 10)),
      'outside',
    ],
    ['excluded network', 'excluded', address(10, 0, 0, 0, 255, 0, 0, 0), address(10, 1, 2, 3), 'a name in an excluded subtree'],
    ['URI with an address', 'permitted', text(6, '.example.org'), text(6, 'http://10.0.0.1/'), 'without a host name'],
    ['URI without authority', 'excluded', text(6, '.example.org'), text(6, 'urn:x:y'), 'without a host name'],
    ['host below', 'permitted', text(2, 'example.org'), text(2, 'WWW.Example.org'), 'valid'],
    ['host that only ends alike', 'permitted', text(2, 'example.org'), text(2, 'badexample.org'), 'outside'],
    ['mailbox below a domain', 'permitted', text(1, '.example.org'), text(1, 'a@b.example.org'), 'valid'],
    ['mailbox at the domain itself', 'permitted', text(1, '.example.org'), text(1, 'a@example.org'), 'outside'],
    ['form that is not compared', 'permitted', other, other, 'not supported'],
  ] as const)('%s', async (_name, kind, base, name, expected) => {
    const ca = await certified(issuing, root, constraints(kind, base));
    expect(faultOf(await certified(person, issuing, names(name)), [ca])).toContain(expected);
  });

  test('of mailboxes hold for the subject where there is no alternative name', async () => {
    const ca = await certified(issuing, root, constraints('permitted', text(1, 'example.org')));
    const mailbox = der.set(der.sequence(der.oid(oids.emailAddress), der.ia5String('a@example.com')));
    const withMailbox = { ...person, name: der.sequence(mailbox) };
    expect(faultOf(await certified(withMailbox, issuing, []), [ca])).toContain('outside');
    const alternative = extension(oids.subjectAltName, generalNames(['a@example.org']));
    expect(faultOf(await certified(withMailbox, issuing, [alternative]), [ca])).toBe('valid');
  });
});

test('bytes that are no certificate are a DerError and nothing else', async () => {
  const { der: good } = await certified(issuing, root, authority);
  const change = array(oneOctet(), { minLength: 1, maxLength: 4 });
  assert(
    property(change, integer({ min: 0, max: good.length }), uint8Array({ maxLength: 8 }), (changes, cut, tail) => {
      const bytes = Uint8Array.from(good);
      for (const [index, value] of changes) bytes[index % bytes.length] = value;
      const hostile = cut % 3 === 0 ? Buffer.concat([bytes.subarray(0, cut), tail]) : bytes;
      try {
        pathCertificate(hostile);
      } catch (error) {
        expect(error).toBeInstanceOf(DerError);
      }
    }),
    { numRuns: 2000 },
  );
});

function oneOctet() {
  return integer({ min: 0, max: 4000 }).chain((index) =>
    constantFrom(0, 1, 0x30, 0x7f, 0x80, 0x84, 0xff).map((value) => [index, value] as const),
  );
}
