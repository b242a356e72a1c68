import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeVerifies, joinCode, splitCode } from '../../../src/twoddoc/code/code.ts';
import { TwoDDocFault } from '../../../src/twoddoc/two-d-doc-fault.ts';
import { opensslVerifies } from '../../support/two-d-doc-codes.ts';

interface Sample {
  readonly id: string;
  readonly version: string;
  readonly dataZoneBase64: string;
  readonly signatureHex: string;
  readonly payloadBase64?: string;
  readonly certificate: string;
}

const { samples, certificates } = JSON.parse(readFileSync(new URL('../../fixtures/2d-doc/samples.json', import.meta.url), 'utf8')) as {
  samples: Sample[];
  certificates: Record<string, { pem: string }>;
};
const printed = samples.flatMap(({ payloadBase64, ...sample }) => (payloadBase64 === undefined ? [] : [{ ...sample, payloadBase64 }]));

describe('codes of issuers', () => {
  it.each(printed)('$id: zone and signature, which verifies', ({ payloadBase64, dataZoneBase64, signatureHex, certificate, version }) => {
    const payload = Buffer.from(payloadBase64, 'base64');
    const code = splitCode(payload);
    expect(Buffer.from(code.zone).toString('base64')).toBe(dataZoneBase64);
    expect(Buffer.from(code.signature).toString('hex')).toBe(signatureHex);
    const { publicKey } = new X509Certificate(certificates[certificate]?.pem ?? '');
    expect(codeVerifies(code, publicKey)).toBe(true);
    const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
    expect(opensslVerifies({ zone: Buffer.from(code.zone), signature: Buffer.from(code.signature) }, pem)).toBe(true);
    const [first = 0] = code.signature;
    expect(codeVerifies({ ...code, signature: Buffer.concat([Uint8Array.of(first ^ 1), code.signature.subarray(1)]) }, publicKey)).toBe(
      false,
    );
    if (version !== '01') expect(Buffer.from(joinCode(code.zone, code.signature, code.annex))).toEqual(payload);
  });
});

const zone = Buffer.from('DC04FR000001125E125B0101FR26FR');
const signature = fc.constantFrom(64, 96, 132).chain((length) => fc.uint8Array({ minLength: length, maxLength: length }));

describe('a code', () => {
  it('has the zone, the signature and the annex that it was made of', () => {
    fc.assert(
      fc.property(signature, fc.option(fc.stringMatching(/^01[A-Z0-9]{1,30}$/), { nil: undefined }), (value, annexText) => {
        const annex = annexText === undefined ? undefined : Buffer.from(annexText);
        const code = splitCode(joinCode(zone, value, annex));
        expect(Buffer.from(code.zone)).toEqual(zone);
        expect(Buffer.from(code.signature)).toEqual(Buffer.from(value));
        expect(code.annex === undefined ? undefined : Buffer.from(code.annex)).toEqual(annex);
      }),
    );
  });

  it.each([
    ['no header', 'DC4FR000001', 'begins with a header: DC'],
    ['no separator', zone.toString('latin1'), 'no US'],
    ['an empty signature', `${zone.toString('latin1')}\u001f`, 'has 0 characters; allowed are 103 (P-256), 154 (P-384), 212 (P-521)'],
    ['another length', `${zone.toString('latin1')}\u001f${'A'.repeat(104)}`, 'has 104 characters'],
    [
      'stray bits',
      `${zone.toString('latin1')}\u001f${'A'.repeat(102)}B`,
      'the last character of the signature of the code sets bits beyond its last byte',
    ],
    ['small letters', `${zone.toString('latin1')}\u001f${'a'.repeat(103)}`, 'is not Base32: A-Z and 2-7, without padding'],
    ['padding', `${zone.toString('latin1')}\u001f${'A'.repeat(103)}=`, 'is not Base32'],
    ['version 01 without room for a signature', `DC01FR000001125E125C00${'A'.repeat(63)}`, '64 bytes'],
  ])('is refused with %s', (_what, text, message) => {
    expect(() => splitCode(Buffer.from(text, 'latin1'))).toThrow(message);
    expect(() => splitCode(Buffer.from(text, 'latin1'))).toThrow(TwoDDocFault);
  });

  it('made of any bytes is a code or a fault', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.boolean(), (bytes, hasHeader) => {
        const code = hasHeader ? Buffer.concat([zone, Uint8Array.of(0x1f), bytes]) : bytes;
        try {
          expect(splitCode(code).zone.length).toBeLessThan(code.length);
        } catch (error) {
          expect(error).toBeInstanceOf(TwoDDocFault);
        }
      }),
    );
  });
});
