import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestInPath } from '../../../src/http/public/ocsp-path.ts';

/** Its base64 has every letter that makes trouble: `+`, `/`, `=`. */
const request = Buffer.from('30fbefbeffffbe3ffb', 'hex');
const padded = Buffer.concat([request, Buffer.of(1)]);

describe('an OCSP request in the path of a GET', () => {
  const base64 = padded.toString('base64');
  it.each([
    `/${base64}`,
    `//${base64}`,
    `///${base64}`,
    `/${encodeURIComponent(base64)}`,
    `/${encodeURIComponent(base64)
      .toLowerCase()
      .replace(/^.*$/, () => encodeURIComponent(base64).replaceAll(/%../g, (escape) => escape.toLowerCase()))}`,
    `/${encodeURIComponent(encodeURIComponent(base64))}`,
    `/${base64.replaceAll('+', '%20')}`,
    `/${base64.replaceAll('+', '-').replaceAll('/', '_')}`,
    `/${base64.replaceAll('=', '')}`,
    `/${base64.replaceAll('/', '%2f')}`,
  ])('is found as it comes in the wild: %s', (path) => {
    expect(requestInPath(path)).toEqual(padded);
  });

  it.each(['', '/', '//', '/%', '/%zz', '/MA=A', '/MAA==', '/M', '/MAAAA', '/MA===', '/é', '/MA A!', '/MA\0A'])(
    'is not found in %j',
    (path) => {
      expect(requestInPath(path)).toBeUndefined();
    },
  );

  it('is what was encoded, whatever it is; and nothing throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
        const der = Buffer.concat([Buffer.of(0x30), bytes]);
        const text = der.toString('base64');
        for (const path of [`/${text}`, `//${encodeURIComponent(text)}`]) expect(requestInPath(path)).toEqual(der);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        requestInPath(`/${text}`);
      }),
    );
  });
});
