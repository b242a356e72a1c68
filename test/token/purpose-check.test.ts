import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { children, readAll } from '../../src/asn1/reader.ts';
import { isWellFormedDer } from '../../src/asn1/well-formed.ts';
import { readTbsCertificate } from '../../src/x509/tbs-certificate.ts';
import { checkDer, DerWalk, NotFit } from '../../src/token/host/purposes/der-walk.ts';
import { checkCertificateList } from '../../src/token/host/purposes/certificate-list.ts';
import { purposeFault, type ServedBy } from '../../src/token/host/purposes/purposes.ts';
import { periodDays, readTime } from '../../src/token/host/purposes/times.ts';
import { newKeyId, type KeyPurpose } from '../../src/token/key-id.ts';
import { purposeMessages, type PurposeMessages } from './purpose-messages.ts';

const purposes = ['root', 'authority', 'ocsp', 'timeStamps'] as const satisfies readonly KeyPurpose[];
const keys = Object.fromEntries([...purposes, 'audit' as const].map((purpose) => [purpose, newKeyId(purpose)]));
const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
/** SHA-256 of the one key of checkpoints that the host has made. */
const ownKey = 'a1'.repeat(32);
let made: PurposeMessages;
let all: readonly Buffer[];

beforeAll(async () => {
  made = await purposeMessages(5);
  all = Object.values(made);
});

function isSigned(purpose: KeyPurpose, message: Uint8Array, servedBy: ServedBy = 'service'): boolean {
  const id = keys[purpose];
  if (id === undefined) throw new Error(`no key for ${purpose}`);
  return purposeFault(id, ecdsa, Buffer.from(message), { servedBy, auditKeys: { has: (digest) => digest === ownKey } }) === undefined;
}

function isDer(bytes: Uint8Array): boolean {
  try {
    checkDer(bytes);
    return true;
  } catch (error) {
    if (error instanceof NotFit) return false;
    throw error;
  }
}

/** What was done to a message: a byte changed, some taken out, some put in, an element doubled, two messages put together. */
const mutations = fc.array(
  fc.record({
    kind: fc.constantFrom('change', 'bit', 'remove', 'insert', 'double', 'append', 'length'),
    at: fc.nat(),
    length: fc.integer({ min: 1, max: 20 }),
    value: fc.nat(255),
  }),
  { minLength: 1, maxLength: 3 },
);
type Mutation = typeof mutations extends fc.Arbitrary<(infer M)[]> ? M : never;

function mutated(message: Buffer, { kind, at, length, value }: Mutation): Buffer {
  const offset = at % Math.max(1, message.length);
  const [before, after] = [message.subarray(0, offset), message.subarray(offset)];
  const [first = 0] = after;
  switch (kind) {
    case 'change':
      return Buffer.concat([before, Buffer.of(value), after.subarray(1)]);
    case 'bit':
      return Buffer.concat([before, Buffer.of(first ^ (1 << (value & 7))), after.subarray(1)]);
    case 'remove':
      return Buffer.concat([before, after.subarray(length)]);
    case 'insert':
      return Buffer.concat([before, Buffer.alloc(length, value), after]);
    case 'double':
      return Buffer.concat([before, after.subarray(0, length), after]);
    case 'append':
      return Buffer.concat([message, Buffer.alloc(length, value)]);
    case 'length':
    default:
      // A length in the long form, or none at all (indefinite).
      return Buffer.concat([before, Buffer.of((value & 1) === 0 ? 0x80 : 0x81), after]);
  }
}

describe('the look of the host at what it signs', () => {
  it('says yes or no, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.constantFrom(...purposes, 'audit' as const), (bytes, purpose) => {
        expect(isSigned(purpose, bytes, 'operator')).toBe(false);
      }),
      { numRuns: 5000 },
    );
  });

  it('takes nothing but DER, and no certificate of a CA, however a message is changed', () => {
    fc.assert(
      fc.property(fc.nat(), mutations, (which, changes) => {
        const message = changes.reduce(mutated, all[which % all.length] ?? Buffer.alloc(0));
        for (const purpose of purposes) {
          if (!isSigned(purpose, message)) continue;
          // Another reader, of the rooms that the host does not have.
          expect(isWellFormedDer(message)).toBe(true);
          if ((purpose === 'authority' || purpose === 'root') && children(readAll(message))[0]?.tag === 0xa0) checkNoAuthority(message);
        }
      }),
      { numRuns: 10_000 },
    );
  });

  it('takes the DER that another reader takes, and no other', () => {
    fc.assert(
      fc.property(fc.nat(), mutations, (which, changes) => {
        const message = changes.reduce(mutated, all[which % all.length] ?? Buffer.alloc(0));
        if (isDer(message)) expect(isWellFormedDer(message)).toBe(true);
      }),
      { numRuns: 10_000 },
    );
  });

  it.each<[string, () => Uint8Array]>([
    ['nothing', () => Buffer.alloc(0)],
    ['an indefinite length', () => Buffer.concat([Buffer.of(0x30, 0x80), made.responseData, Buffer.of(0, 0)])],
    ['a length in two octets where one does', () => Buffer.of(0x30, 0x81, 0x02, 0x05, 0x00)],
    ['a length with a zero before it', () => Buffer.concat([Buffer.of(0x04, 0x82, 0x00, 0x80), Buffer.alloc(128)])],
    ['a length of five octets', () => Buffer.of(0x30, 0x85, 0, 0, 0, 0, 0)],
    ['something behind the element', () => Buffer.concat([der.nullValue(), der.nullValue()])],
    ['an element that is longer than its surroundings', () => Buffer.of(0x30, 0x02, 0x04, 0x01)],
    ['a high tag number', () => Buffer.of(0x3f, 0x21, 0x00)],
    ['end-of-contents', () => Buffer.of(0x30, 0x02, 0x00, 0x00)],
    ['a constructed string', () => der.tagged(0x24, der.octetString(Buffer.of(1)))],
    ['a primitive sequence', () => Buffer.of(0x10, 0x00)],
    ['a BOOLEAN of 1', () => Buffer.of(0x01, 0x01, 0x01)],
    ['an INTEGER with a zero before it', () => Buffer.of(0x02, 0x02, 0x00, 0x01)],
    ['an INTEGER of no octets', () => Buffer.of(0x02, 0x00)],
    ['a BIT STRING with unused bits that are set', () => Buffer.of(0x03, 0x02, 0x01, 0x01)],
    ['a NULL with content', () => Buffer.of(0x05, 0x01, 0x00)],
    ['an object identifier that is cut short', () => Buffer.of(0x06, 0x01, 0x80)],
    ['an object identifier of 129 octets', () => der.tagged(0x06, Buffer.alloc(129, 1))],
    ['30 levels', () => Array.from({ length: 30 }).reduce<Uint8Array>((inner) => der.sequence(inner), der.nullValue())],
  ])('is no DER to it: %s', (_, bytes) => {
    expect(isDer(bytes())).toBe(false);
  });

  it.each([
    ['a BOOLEAN of 0', Buffer.of(0x01, 0x01, 0x00)],
    ['a BOOLEAN of 255', Buffer.of(0x01, 0x01, 0xff)],
    ['an INTEGER of 128', Buffer.of(0x02, 0x02, 0x00, 0x80)],
    ['an INTEGER of -129', Buffer.of(0x02, 0x02, 0xff, 0x7f)],
    ['a BIT STRING of nothing', Buffer.of(0x03, 0x01, 0x00)],
    ['a length of 128', Buffer.concat([Buffer.of(0x04, 0x81, 0x80), Buffer.alloc(128)])],
  ])('is DER to it: %s', (_, bytes) => {
    expect(isDer(bytes)).toBe(true);
  });

  it('takes entries of a CRL as what they are alone: a SEQUENCE whose length has one octet, with a number and a time (RFC 5280 5.1.2.6)', () => {
    const number = der.integer(5);
    const time = der.time(new Date('2026-03-02T10:00:00Z'));
    const extension = der.sequence(der.oid('2.5.29.21'), der.octetString(Buffer.of(0x0a, 0x01, 0x01)));
    const listOf = (...entries: Uint8Array[]): DerWalk =>
      new DerWalk(
        Buffer.concat([
          ...[der.integer(1), der.sequence(), der.sequence(der.nullValue())],
          ...[time, der.time(new Date('2026-03-03T10:00:00Z')), der.sequence(...entries)],
          der.explicit(0, der.sequence(der.sequence())),
        ]),
      );
    const good = [der.sequence(number, time), der.sequence(number, time, der.sequence(extension))];
    checkCertificateList(listOf(...good));
    for (const bad of [
      der.set(number, time),
      der.sequence(number, time, der.octetString(Buffer.alloc(128))),
      der.sequence(number),
      der.sequence(time, number),
      der.sequence(number, number),
      der.sequence(der.octetString(Buffer.of(5)), time),
    ])
      expect(() => {
        checkCertificateList(listOf(...good, bad));
      }).toThrow('an entry is malformed');
    expect(() => {
      checkCertificateList(listOf());
    }).toThrow('the list of revoked certificates is empty');
  });

  it('counts the days of a period from date to date', () => {
    for (const [from, until, days] of [
      ['19500101000000', '20491231235959', 36_524],
      ['20260302100000', '20260303100000', 1],
      ['20260228100000', '20260301100000', 1],
      ['20240228100000', '20240301100000', 2],
      ['20261231235959', '20270101000000', 1],
      ['20260101000000', '20300101000000', 1461],
      ['20260101000000', '30260101000000', 365_242],
    ] as const)
      expect(periodDays(from, until), `${from} to ${until}`).toBe(days);
    expect(() => periodDays('20260302100000', '20260302100000')).toThrow('ends before it begins');
  });

  it('takes times in the one form that they have (RFC 5280 4.1.2.5)', () => {
    const [before, after] = [new Date('2026-03-02T10:00:00Z'), new Date('2051-03-02T10:00:00Z')];
    expect(readTime(new DerWalk(der.time(before)))).toBe('20260302100000');
    expect(readTime(new DerWalk(der.time(after)))).toBe('20510302100000');
    expect(() => readTime(new DerWalk(der.generalizedTime(before)))).toThrow(NotFit);
    for (const text of ['2603021000Z', '260302100000+0000', '261302100000Z', '260302100060Z'])
      expect(() => readTime(new DerWalk(der.tagged(0x17, Buffer.from(text))))).toThrow(NotFit);
  });

  it('accepts a checkpoint only as a complete text', () => {
    expect(isSigned('audit', made.checkpoint)).toBe(true);
    for (const text of [
      made.checkpoint.subarray(1),
      made.checkpoint.subarray(0, -1),
      Buffer.concat([Buffer.from('\n'), made.checkpoint]),
      Buffer.concat([made.checkpoint, Buffer.alloc(4096, 0x0a)]),
    ])
      expect(isSigned('audit', text)).toBe(false);
  });

  it('accepts a succession only as a complete text, to a key that the host has made', () => {
    const text = (next: string, time = '2026-03-02T10:16:00.000Z'): string =>
      `signetd audit key v1\nformer: ${'0'.repeat(64)}\nnew: ${next}\ntime: ${time}\n`;
    const good = text(ownKey);
    expect(isSigned('audit', Buffer.from(good))).toBe(true);
    for (const bad of [
      text('a2'.repeat(32)),
      text(ownKey.toUpperCase()),
      text(`${ownKey}00`),
      text(ownKey, `2026-03-02T10:16:00.000Z\nnew: ${'a2'.repeat(32)}`),
      `${good}\n`,
      `${good}new: ${ownKey}\n`,
      good.slice(1),
      good.slice(0, -1),
      `signetd audit key v1\nnew: ${'a2'.repeat(32)}\n${good}`,
      good.replace('v1', 'v2'),
    ])
      expect([bad, isSigned('audit', Buffer.from(bad))]).toEqual([bad, false]);
  });
});

/** @throws where the certificate would pass for a CA's */
function checkNoAuthority(message: Buffer): void {
  const { version, issuer, extensions } = readTbsCertificate(readAll(message));
  expect(version).toBe(2);
  expect(children(readAll(issuer)).length).toBeGreaterThan(0);
  const constraints = extensions.get(oids.basicConstraints);
  const [isAuthority] = constraints === undefined ? [] : children(readAll(constraints.value));
  expect(isAuthority?.tag === 0x01 && isAuthority.content[0] !== 0).toBe(false);
  const usage = extensions.get(oids.keyUsage);
  if (usage === undefined) throw new Error('no keyUsage');
  expect((readAll(usage.value).content[1] ?? 0) & 0x06).toBe(0);
}
