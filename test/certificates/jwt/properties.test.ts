import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { requestedBy } from '../../../src/certificates/jwt/claim-mapping.ts';
import { claimsOf, parseCompact } from '../../../src/certificates/jwt/compact.ts';
import { KeySet } from '../../../src/certificates/jwt/key-set.ts';
import { FetchedKeys, KeysUnavailable } from '../../../src/certificates/jwt/provider-keys.ts';
import { verifyToken, type TokenRules } from '../../../src/certificates/jwt/verify-token.ts';
import { ClaimMapping } from '../../../src/config/identity-provider-config.ts';
import { parseTokenJson } from '../../../src/http/json/strict-json.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { claims, issuer, signingKey, tokenOf } from './provider.ts';

const key = signingKey('k1');
const document = Buffer.from(JSON.stringify({ keys: [key.jwk] }));
const keySet = new KeySet(document, parseTokenJson);
const rules: TokenRules = {
  ...{ issuer, audience: ['signetd'], algorithms: ['ES256'], clockToleranceSeconds: 0, oneTime: false },
  ...{ maxAgeSeconds: undefined, type: undefined },
};

async function accepted(text: string): Promise<unknown> {
  try {
    const token = parseCompact(text, parseTokenJson);
    claimsOf(token, parseTokenJson);
    return (await verifyToken(token, { find: async (wanted) => Promise.resolve(keySet.find(wanted)) }, rules)).claims;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    expect(['FIELD_INVALID', 'ISSUANCE_REFUSED']).toContain(error.code);
    return undefined;
  }
}

/** Numbers that JSON parsers lose are in no token that is read. */
function isStrict(json: string): boolean {
  try {
    return Object.keys(parseTokenJson(Buffer.from(json))).length > 0;
  } catch {
    return false;
  }
}

const part = (value: unknown): string => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('a token', () => {
  let good: string;
  beforeAll(async () => {
    good = await tokenOf(key);
  });

  test('of any text is parsed, or refused as not a token', async () => {
    const anyPart = fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: 'binary' }).map(part), fc.json().map(part));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.array(anyPart, { maxLength: 6 }).map((parts) => parts.join('.')),
        ),
        async (text) => {
          expect(await accepted(text)).toBeUndefined();
        },
      ),
      { numRuns: 500 },
    );
  });

  test('with another character at any place, or one more or less, is refused', async () => {
    expect(await accepted(good)).toBeDefined();
    await fc.assert(
      fc.asyncProperty(
        fc.nat(good.length - 1),
        fc.constantFrom('A', 'B', 'z', '0', '-', '_', '.', '=', '+', ' ', ''),
        fc.nat(1),
        async (at, by, cut) => {
          const changed = good.slice(0, at) + by + good.slice(at + cut);
          fc.pre(changed !== good);
          expect(await accepted(changed)).toBeUndefined();
        },
      ),
      { numRuns: 600 },
    );
  });

  test('with any other header over the same signature is refused', async () => {
    const [, ...rest] = good.split('.');
    const header = fc.dictionary(
      fc.constantFrom('alg', 'kid', 'typ', 'cty', 'crit', 'b64', 'jku', 'jwk', 'x5u', 'x5c', 'zip'),
      fc.jsonValue(),
    );
    await fc.assert(
      fc.asyncProperty(header, async (fields) => {
        for (const one of [fields, { ...fields, alg: 'ES256' }, { ...fields, alg: 'ES256', kid: 'k1' }]) {
          const text = [part(one), ...rest].join('.');
          if (text !== good) expect(await accepted(text)).toBeUndefined();
        }
      }),
      { numRuns: 200 },
    );
  });

  test('with any claims is refused, unless they are valid', async () => {
    const time = fc.oneof(
      fc.jsonValue(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.constantFrom(0, -1, 1e308, 2 ** 53),
    );
    const payload = fc.record({ iss: fc.jsonValue(), aud: fc.jsonValue(), exp: time, nbf: time, iat: time }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(payload, async (changes) => {
        const json = JSON.stringify({ ...claims(), ...changes });
        const { iss, aud, exp, nbf, iat } = JSON.parse(json) as Record<string, unknown>;
        const now = Date.now() / 1000;
        const isPast = (value: unknown): boolean => value === undefined || (typeof value === 'number' && value <= now);
        const isGood =
          isStrict(json) &&
          iss === issuer &&
          (aud === 'signetd' || (Array.isArray(aud) && aud.includes('signetd'))) &&
          typeof exp === 'number' &&
          exp > now &&
          isPast(nbf) &&
          isPast(iat);
        const text = await tokenOf(key, { ...claims(), ...(changes as object) });
        expect((await accepted(text)) !== undefined).toBe(isGood);
      }),
      { numRuns: 300 },
    );
  });
});

describe('any claims', () => {
  const mapping = ClaimMapping.parse({
    subject: { organizationName: ['{org}'], organizationUnit: ['{units}'] },
    nameFields: { uid: ['{uid}'] },
  });
  const hostile = fc.constantFrom('x", CN=y', '#0c0161', 'a\u0000b', 'a\u202eb', 'x'.repeat(10_000), '+', '\\', '{name}', '__proto__');
  const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 70 }), hostile, fc.jsonValue());

  test('are in the subject character by character, or refused', () => {
    const given = fc.record(
      {
        name: value,
        given_name: value,
        family_name: value,
        sub: value,
        org: value,
        uid: value,
        units: value,
        email: value,
        address: value,
      },
      { requiredKeys: [] },
    );
    let made = 0;
    fc.assert(
      fc.property(given, fc.string({ minLength: 1, maxLength: 64 }), (fields, name) => {
        for (const one of [fields, { ...fields, name, email: null, sub: null }, { name, org: fields.org, units: fields.units }]) {
          try {
            const { subject } = requestedBy(one, mapping, 'FR');
            made += 1;
            if (typeof one.name === 'string' && one.name !== '') expect(subject.commonName).toBe(one.name);
            const { org, units } = one;
            if (typeof org === 'string' && org !== '') expect(subject.organizationName).toBe(org);
            if (Array.isArray(units))
              expect(subject.organizationUnit).toEqual(units.filter((unit) => unit !== '' && unit !== null).map(String));
          } catch (error) {
            expect(error).toMatchObject({ code: 'ISSUANCE_REFUSED' });
          }
        }
      }),
      { numRuns: 500 },
    );
    expect(made).toBeGreaterThan(50);
  });

  test('that are refused are not repeated in the message', () => {
    const secret = 'a\u0000secret';
    for (const fields of [
      { name: secret },
      { name: 'Zoé', sub: secret },
      { name: 'Zoé', email: secret },
      { name: 'Zoé', units: [secret] },
    ]) {
      expect(() => requestedBy(fields, mapping, 'FR')).toThrow(Refusal);
      expect(() => requestedBy(fields, mapping, 'FR')).not.toThrow(/secret/);
    }
  });
});

test.each(['{', '}', '{}', 'a{b', '{a{b}}', '{/a~2}', ''])('the template %j is no mapping', (template) => {
  expect(ClaimMapping.safeParse({ subject: { title: [template] } }).success).toBe(false);
});

test('any document is read as a key set, or refused with the reason', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.json(),
        fc.array(fc.jsonValue()).map((keys) => JSON.stringify({ keys })),
      ),
      (text) => {
        expect(() => new KeySet(Buffer.from(text), parseTokenJson)).toThrow(Error);
      },
    ),
  );
});

describe('a key set that is fetched', () => {
  const times = { freshSeconds: 100, keptSeconds: 1000, cooldownSeconds: 30 };
  const known = { alg: 'ES256', kid: 'k1' };
  const settled = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  /** A server and a clock, both in the test's hand. */
  function reader() {
    const world = { now: 0, fetches: 0, isUp: true };
    const fetch = async (): Promise<Buffer> => {
      world.fetches += 1;
      return world.isUp ? Promise.resolve(document) : Promise.reject(new Error('no connection'));
    };
    const read = (bytes: Buffer): KeySet => new KeySet(bytes, parseTokenJson);
    const keys = new FetchedKeys({ url: 'https://idp.example.org', source: '', fetch, read, log: recordingLog() }, times, () => world.now);
    return { world, keys };
  }

  test('is fetched again when it is no longer fresh, stays in use while the provider is unavailable, and expires', async () => {
    const { world, keys } = reader();
    expect(await keys.find(known)).toBeDefined();
    world.now = 101;
    expect(await keys.find(known)).toBeDefined();
    await settled();
    expect(world.fetches).toBe(2);
    world.isUp = false;
    world.now = 1100;
    expect(await keys.find(known)).toBeDefined();
    await settled();
    expect(world.fetches).toBe(3);
    world.now = 1102;
    await expect(keys.find(known)).rejects.toThrow(KeysUnavailable);
    expect(world.fetches).toBe(3);
    world.isUp = true;
    world.now = 1106;
    expect(await keys.find(known)).toBeDefined();
  });

  test('is fetched for unknown keys only once in each cool-down', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 60 }), async (pauses) => {
        const { world, keys } = reader();
        for (const pause of pauses) {
          world.now += pause;
          await Promise.all(Array.from({ length: 3 }, async () => keys.find({ alg: 'ES256', kid: 'unknown' })));
          await settled();
        }
        const most = 2 + world.now / times.cooldownSeconds + world.now / times.freshSeconds;
        expect(world.fetches).toBeLessThanOrEqual(most);
      }),
      { numRuns: 50 },
    );
  });
});
