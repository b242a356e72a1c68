import { describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { CommandRefused } from '../../src/admin/protocol.ts';
import { readClientCertificate } from '../../src/admin/client-certificate.ts';
import { alternativeNames, name, pemOf, strangersCertificate, usualSpki } from '../support/strangers-certificates.ts';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const usual = strangersCertificate({});

/** The certificate with other octets in the place of the first that are these. */
function changed(from: Uint8Array | string, to: Uint8Array | string): Uint8Array {
  const bytes = Buffer.from(usual);
  const at = bytes.indexOf(from);
  if (at < 0 || from.length !== to.length) throw new Error('nothing to change');
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(to), bytes.subarray(at + from.length)]);
}

const [, year = ''] = /(\d{12}Z)/.exec(Buffer.from(usual).toString('latin1')) ?? [];
const unknownKey = der.sequence(der.sequence(der.oid('1.2.3.4.5')), der.bitString(Buffer.from('abc')));
const offCurve = Uint8Array.from(usualSpki);
offCurve.set([(offCurve.at(-1) ?? 0) ^ 1], offCurve.length - 1);

describe('the certificate of a new client', () => {
  it('is read, with its public key and what a record says of it', () => {
    const { certificate, publicKey, details } = readClientCertificate(base64(usual));
    expect([certificate.subject, details.subject]).toEqual(['CN=subject', 'CN=subject']);
    expect(publicKey).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('certificate')],
    ['PEM', Buffer.from(pemOf([usual]))],
    ['something behind it', Buffer.concat([usual, Buffer.from('x')])],
    ['a month that no year has', changed(year, `${year.slice(0, 2)}99${year.slice(4)}`)],
    ['a time that is none', changed(year, 'x'.repeat(13))],
    ['a version that is none', changed(Uint8Array.of(0xa0, 3, 2, 1, 2), Uint8Array.of(0xa0, 3, 2, 1, 7))],
    ['an unknown kind of key', strangersCertificate({ key: unknownKey })],
    ['a point that is not on its curve', strangersCertificate({ key: offCurve })],
    ['too many elements', strangersCertificate({ extensions: [alternativeNames(5000)] })],
  ])('is refused in words with %s', (_what, bytes) => {
    expect(() => readClientCertificate(base64(bytes))).toThrow(CommandRefused);
    expect(() => readClientCertificate(base64(bytes))).toThrow(/^certificate: this is not/);
  });

  it('is refused where it is longer than any handshake reads', () => {
    const long = (length: number): string => base64(strangersCertificate({ subject: name('a'.repeat(length)) }));
    expect(() => readClientCertificate(long(32_768))).toThrow(/more than 32768 bytes/);
    expect(readClientCertificate(long(32_000)).details.subject).toHaveLength('CN='.length + 32_000);
  });
});
