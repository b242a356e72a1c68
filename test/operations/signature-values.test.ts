import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkIds, valueMapping } from '../../src/operations/remote-sign/signature-values.ts';
import type { Refusal } from '../../src/result-codes.ts';
import { verifyValues } from '../../src/signatures/sessions/verify-values.ts';
import { ecdsaValueToDer } from '../../src/asn1/ecdsa-value.ts';
import { possibleEcdsaValues } from '../../src/signatures/signature-value.ts';

const inconsistent = expect.objectContaining({ code: 'FIELDS_INCONSISTENT' }) as Refusal;
const refusalOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};
const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 12 });
const value = fc.uint8Array({ maxLength: 80 });

describe('a mapping of signature values', () => {
  it('gives each digest its value, in whatever order it comes', () => {
    fc.assert(
      fc.property(
        ids.chain((all) => fc.record({ all: fc.constant(all), shuffled: fc.shuffledSubarray(all, { minLength: all.length }) })),
        value,
        ({ all, shuffled }, salt) => {
          const valueOf = (id: string): Uint8Array => createHash('sha256').update(id).update(salt).digest();
          const mapping = valueMapping({ signatureValueMapping: shuffled.map((id) => ({ id, signatureValue: valueOf(id) })) });
          checkIds(
            all.map((id) => ({ id })),
            mapping,
          );
          expect(all.map((id) => mapping.get(id))).toEqual(all.map(valueOf));
        },
      ),
    );
  });

  it('is refused if, and only if, an id is missing, unknown or duplicate', () => {
    fc.assert(
      fc.property(ids, fc.array(fc.nat(14), { maxLength: 14 }), (all, picks) => {
        const given = picks.map((pick) => all[pick] ?? `another ${pick}`);
        const signatureValueMapping = given.map((id) => ({ id, signatureValue: Buffer.from(id) }));
        const answer = refusalOf(() => {
          checkIds(
            all.map((id) => ({ id })),
            valueMapping({ signatureValueMapping }),
          );
        });
        const isExact = given.length === all.length && new Set(given).size === given.length && given.every((id) => all.includes(id));
        if (isExact) expect(answer).toBeUndefined();
        else expect(answer).toEqual(inconsistent);
      }),
      { numRuns: 500 },
    );
  });
});

describe('an ECDSA value', () => {
  const curves = [
    ['P-256', 'prime256v1', 32, 'sha256'],
    ['P-384', 'secp384r1', 48, 'sha384'],
    ['P-521', 'secp521r1', 66, 'sha512'],
  ] as const;

  it.each(curves)('of %s is r‖s from either form', (_name, curve, width) => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 2 * width, maxLength: 2 * width }), (bytes) => {
        const raw = Buffer.from(bytes);
        expect(possibleEcdsaValues(raw, curve)[0]).toEqual(raw);
        expect(possibleEcdsaValues(ecdsaValueToDer(raw), curve).some((one) => raw.equals(one))).toBe(true);
      }),
    );
  });

  it.each(curves)('of %s is never read from bytes that are neither, and nothing throws', (_name, curve, width) => {
    const near = fc.tuple(fc.uint8Array({ minLength: 2 * width, maxLength: 2 * width }), fc.nat(), fc.nat(255)).map(([bytes, at, byte]) => {
      const der = Buffer.from(ecdsaValueToDer(bytes));
      der[at % der.length] = byte;
      return der;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 2 * width + 20 }), near), (bytes) => {
        for (const one of possibleEcdsaValues(bytes, curve)) {
          expect(one).toHaveLength(2 * width);
          expect(bytes.length === 2 * width || Buffer.from(ecdsaValueToDer(one)).equals(bytes)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each(curves)('of %s verifies from either form, and no other does', (_name, namedCurve, _width, hash) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
    const data = Buffer.from('data');
    const digest = createHash(hash).update(data).digest();
    const raw = sign(hash, data, { key: privateKey, dsaEncoding: 'ieee-p1363' });
    const der = sign(hash, data, { key: privateKey, dsaEncoding: 'der' });
    const wrong = Buffer.from(raw);
    wrong[5] = (wrong[5] ?? 0) ^ 1;
    const values = [raw, der, wrong, Buffer.alloc(raw.length), Buffer.alloc(0)];
    const verified = verifyValues({
      publicKey,
      algorithm: { scheme: 'ECDSA', hash },
      values: values.map((one) => ({ digest, value: one })),
    });
    expect(verified.map((one) => one !== undefined)).toEqual([true, true, false, false, false]);
    expect(verified[0]).toEqual(raw);
  });
});
