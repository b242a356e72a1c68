import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { assert, constantFrom, date, integer, option, property, record, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { DerError, readAll } from '../../src/asn1/reader.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { imprintDer, readTimeStampRequest, RequestRejected, timeStampRequest } from '../../src/timestamp/request.ts';
import { grantedResponse, readTimeStampResponse, rejection } from '../../src/timestamp/response.ts';
import { readTstInfo, tstInfoDer } from '../../src/timestamp/tst-info.ts';
import { openssl } from '../support/openssl.ts';

const imprint = { hash: 'sha256', value: createHash('sha256').update('document').digest() } as const;
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const failureOf = (bytes: Uint8Array): string => {
  try {
    readTimeStampRequest(bytes);
    return 'none';
  } catch (error) {
    if (error instanceof RequestRejected) return error.failure;
    throw error;
  }
};

describe('a request', () => {
  test('is read in the same way by OpenSSL', () => {
    const text = openssl(['ts', '-query', '-in', '{query}', '-text'], {
      query: timeStampRequest(imprint, { policy: '1.2.3.4', nonce: Buffer.of(0xab, 0xcd) }),
    });
    for (const part of ['Hash Algorithm: sha256', 'Policy OID: 1.2.3.4', 'Nonce: 0xABCD', 'Certificate required: yes'])
      expect(text).toContain(part);
  });

  test.each([
    [['-cert', '-tspolicy', '1.2.3.4'], { policy: '1.2.3.4', certificateWanted: true, nonce: expect.any(Uint8Array) as unknown }],
    [['-no_nonce'], { policy: undefined, certificateWanted: false, nonce: undefined }],
  ])('of OpenSSL is read: %j', (args, expected) => {
    const query = execFileSync('openssl', ['ts', '-query', '-digest', hex(imprint.value), '-sha256', ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const read = readTimeStampRequest(query);
    expect(read).toMatchObject(expected);
    expect(hex(read.imprint.value)).toBe(hex(imprint.value));
  });

  const version = der.integer(1);
  const body = imprintDer(imprint);
  test.each<[string, Uint8Array, string]>([
    ['nothing', new Uint8Array(), 'badDataFormat'],
    ['another version', der.sequence(der.integer(2), body), 'badRequest'],
    ['no imprint', der.sequence(version), 'badDataFormat'],
    [
      'MD5',
      der.sequence(
        version,
        der.sequence(der.sequence(der.oid('1.2.840.113549.2.5'), der.nullValue()), der.octetString(new Uint8Array(16))),
      ),
      'badAlg',
    ],
    ...[0x04, 0x02, 0x0c, 0x13].map((tag): [string, Uint8Array, string] => [
      `a hash that is named by the tag ${tag}`,
      der.sequence(
        version,
        der.sequence(der.sequence(der.tagged(tag, readAll(der.oid('2.16.840.1.101.3.4.2.1')).content)), der.octetString(imprint.value)),
      ),
      'badDataFormat',
    ]),
    ['an imprint that is too short', der.sequence(version, imprintDer({ hash: 'sha256', value: new Uint8Array(31) })), 'badDataFormat'],
    ['an endless nonce', der.sequence(version, body, der.integer(new Uint8Array(65).fill(1))), 'badRequest'],
    [
      'an extension',
      der.sequence(version, body, der.implicitConstructed(0, der.sequence(der.oid('1.2.3'), der.octetString(new Uint8Array())))),
      'unacceptedExtension',
    ],
    ['a tail', der.concat(der.sequence(version, body), Buffer.of(0)), 'badDataFormat'],
    ['certReq that is no BOOLEAN', der.sequence(version, body, der.tagged(0x01, Buffer.of(1))), 'badDataFormat'],
  ])('is rejected: %s', (_name, bytes, failure) => {
    expect(failureOf(bytes)).toBe(failure);
  });

  test('of any bytes is read or rejected', () => {
    const good = timeStampRequest(imprint, { policy: '1.2.3.4', nonce: Buffer.of(1, 2, 3) });
    assert(
      property(
        integer({ min: 0, max: good.length - 1 }),
        constantFrom(0, 1, 2, 0x30, 0x7f, 0x80, 0x84, 0xff),
        uint8Array({ maxLength: 20 }),
        (index, value, junk) => {
          const changed = Uint8Array.from(good);
          changed[index] = value;
          expect(typeof failureOf(changed)).toBe('string');
          expect(typeof failureOf(junk)).toBe('string');
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('a response', () => {
  test('that rejects is read in the same way by OpenSSL and by us', () => {
    const bytes = rejection({ failure: 'unacceptedPolicy', message: 'the policy 1.2.3 is not offered' });
    const text = openssl(['ts', '-reply', '-in', '{reply}', '-text'], { reply: bytes });
    for (const part of ['Status: Rejected.', 'the policy 1.2.3 is not offered', 'the requested TSA policy is not supported by the TSA'])
      expect(text).toContain(part);
    expect(readTimeStampResponse(bytes)).toEqual({ refusal: 'rejection: unacceptedPolicy: the policy 1.2.3 is not offered' });
  });

  test('that grants has a token', () => {
    const token = der.sequence(der.oid('1.2.840.113549.1.7.2'));
    expect(readTimeStampResponse(grantedResponse(token))).toEqual({ token });
    expect(() => readTimeStampResponse(der.sequence(der.sequence(der.integer(0))))).toThrow(DerError);
  });
});

test('TSTInfo that is written is read back', () => {
  const parts = record({
    time: date({ min: new Date('1970-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
    serialNumber: uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => der.integer(bytes).subarray(2)),
    accuracy: option(record({ seconds: integer({ min: 0, max: 60 }), milliseconds: integer({ min: 0, max: 999 }) }), { nil: undefined }),
    ordering: constantFrom(true, false),
    nonce: option(
      uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => der.integer(bytes).subarray(2)),
      { nil: undefined },
    ),
  });
  const authorityName = subjectName({ country: 'FR', commonName: 'Time-stamp authority' });
  assert(
    property(parts, (given) => {
      const read = readTstInfo(tstInfoDer({ policy: '1.2.3.4', imprintDer: imprintDer(imprint), authorityName, ...given }));
      expect(read).toMatchObject({ policy: '1.2.3.4', time: given.time, accuracy: given.accuracy, ordering: given.ordering });
      expect([hex(read.serialNumber), hex(read.imprint.value)]).toEqual([hex(given.serialNumber), hex(imprint.value)]);
      expect(read.nonce === undefined ? undefined : hex(read.nonce)).toBe(given.nonce === undefined ? undefined : hex(given.nonce));
    }),
  );
});
