import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import type { Attribute } from 'pkcs11js';
import { stringify } from 'yaml';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error.ts';
import { keyTypes } from '../../src/config/key-types.ts';
import { macKeyId, newKeyId } from '../../src/token/key-id.ts';
import { idInLabel, labelOf, macKeyTemplate, privateTemplate, publicTemplate, type KeyPlace } from '../../src/token/host/key-templates.ts';
import { macKeyMechanisms, macKeyTypes, omittableAttributes, rsaKeyPairMechanisms } from '../../src/token/host/mechanism-names.ts';
import { loadProfile, ModuleProfile } from '../../src/token/host/module-profile.ts';
import { isPattern } from '../../src/token/host/pin.ts';
import { pkcs11js } from '../../src/token/host/session.ts';
import { firstBlock } from '../docs/shell-blocks.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-profiles-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const shipped = readdirSync('native-config')
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => file.slice(0, -'.yaml'.length));
const plain = { vendor: 'Test', tried: false, source: ['a document'], modulePaths: ['/module.so'] };
const profileOf = (quirks: object): ModuleProfile => ModuleProfile.parse({ ...plain, ...quirks });
const valueOf = (template: Attribute[], type: number): Attribute['value'] => template.find((attribute) => attribute.type === type)?.value;
const typesOf = (template: Attribute[]): number[] => template.map(({ type }) => type);

describe('the profiles that are shipped', () => {
  it('are those that the documentation promises', () => {
    expect(shipped.toSorted()).toEqual(['cloudhsm', 'luna', 'nethsm', 'nshield', 'p11-kit', 'softhsm2', 'utimaco', 'yubihsm2']);
  });

  it.each(shipped)('%s is well formed, and says where it comes from', (name) => {
    const profile = loadProfile(name);
    expect(profile.tried).toBe(['p11-kit', 'softhsm2'].includes(name));
    for (const source of profile.source) expect(source.length).toBeGreaterThan(20);
    if (profile.pin !== undefined) expect(isPattern(profile.pin.pattern)).toBe(true);
  });

  it('name mechanisms and attributes by the numbers of the binding', () => {
    const known = new Map(Object.entries(pkcs11js));
    const table = { ...rsaKeyPairMechanisms, ...macKeyMechanisms, ...macKeyTypes, ...omittableAttributes };
    const compared = Object.entries(table).filter(([name]) => known.has(name));
    for (const [name, number] of compared) expect([name, number]).toEqual([name, known.get(name)]);
    expect(Object.keys(table).filter((name) => !known.has(name))).toEqual([
      'CKM_RSA_FIPS_186_3_AUX_PRIME_KEY_PAIR_GEN',
      'CKM_RSA_FIPS_186_3_PRIME_KEY_PAIR_GEN',
      'CKM_SHA256_KEY_GEN',
      'CKM_NC_SHA256_HMAC_KEY_GEN',
    ]);
  });
});

describe('a profile of the operator', () => {
  const write = (content: object): string => {
    const path = join(directory, 'own.yaml');
    writeFileSync(path, stringify(content));
    return path;
  };

  it('is read from the path that the configuration names', () => {
    expect(loadProfile(write({ ...plain, vendor: 'Our HSM' })).vendor).toBe('Our HSM');
  });

  it('may be the one that the page on new profiles begins with', () => {
    const path = join(directory, 'page.yaml');
    writeFileSync(path, firstBlock(readFileSync('docs/new-profile.md', 'utf8'), 'yaml'));
    expect(loadProfile(path)).toMatchObject({ vendor: 'My HSM', privateKey: { omit: ['CKA_ALLOWED_MECHANISMS'] } });
  });

  it.each([
    ['leaves out what protects a key', { privateKey: { omit: ['CKA_SENSITIVE'] } }, 'privateKey.omit.0'],
    ['has a member that nobody acts on', { loginTwice: true }, 'loginTwice'],
    ['allows no session beside that of the login', { sessionLimit: 1 }, 'sessionLimit'],
    ['names a mechanism that is none', { rsaKeyPairMechanisms: ['CKM_RSA'] }, 'rsaKeyPairMechanisms.0'],
    ['says nothing of its sources', { source: [] }, 'source'],
  ])('is refused if it %s', (_what, quirk, named) => {
    const path = write({ ...plain, ...quirk });
    expect(() => loadProfile(path)).toThrow(ConfigError);
    expect(() => loadProfile(path)).toThrow(named);
  });

  it('is refused with a line for each fault', () => {
    const path = write({ ...plain, vendor: '', modulePaths: ['module.so'] });
    expect(() => loadProfile(path)).toThrow(/^token\.profile: .*: vendor: .+\ntoken\.profile: .*: modulePaths\.0: .+$/);
    writeFileSync(path, 'a text');
    expect(() => loadProfile(path)).toThrow(`token.profile: ${path}: (file): `);
  });

  it('is reported missing by name and by path', () => {
    expect(() => loadProfile('nowhere')).toThrow('there is no profile "nowhere" in native-config/');
    expect(() => loadProfile(join(directory, 'absent.yaml'))).toThrow('absent.yaml');
  });
});

const omitted = fc.uniqueArray(fc.constantFrom(...Object.keys(omittableAttributes)));
const quirks = fc.record({
  idAfterGeneration: fc.boolean(),
  sessionKeys: fc.boolean(),
  publicKey: fc.record({ onToken: fc.boolean() }),
  privateKey: fc.record({ omit: omitted, uniqueLabel: fc.boolean() }),
  macKey: fc.record({
    keyType: fc.constantFrom(...Object.keys(macKeyTypes)),
    mechanism: fc.constantFrom(...Object.keys(macKeyMechanisms)),
    omit: omitted,
  }),
});
const places = fc.boolean().map((session): KeyPlace => (session ? 'session' : { id: newKeyId('caller') }));
const types = fc.constantFrom(...keyTypes);

describe('a quirk changes the templates as it says', () => {
  it('and no combination takes away what protects a key', () => {
    fc.assert(
      fc.property(quirks, places, types, (chosen, place, type) => {
        const profile = profileOf(chosen);
        for (const template of [privateTemplate(place, type, profile), macKeyTemplate(place, profile)]) {
          expect(valueOf(template, pkcs11js.CKA_SENSITIVE)).toBe(true);
          expect(valueOf(template, pkcs11js.CKA_EXTRACTABLE)).toBe(false);
          expect(valueOf(template, pkcs11js.CKA_PRIVATE)).toBe(true);
          expect(valueOf(template, pkcs11js.CKA_SIGN)).toBe(true);
          expect(valueOf(template, pkcs11js.CKA_TOKEN)).toBe(place !== 'session');
          for (const use of [pkcs11js.CKA_DECRYPT, pkcs11js.CKA_UNWRAP, pkcs11js.CKA_DERIVE])
            expect(valueOf(template, use) ?? false).toBe(false);
          expect(new Set(typesOf(template)).size).toBe(template.length);
        }
      }),
    );
  });

  it('omit: exactly these attributes are missing, and nothing else changes', () => {
    fc.assert(
      fc.property(omitted, places, types, (names, place, type) => {
        const numbers = Object.entries(omittableAttributes).flatMap(([name, number]) => (names.includes(name) ? [number as number] : []));
        const [without, full] = [profileOf({ privateKey: { omit: names }, macKey: { omit: names } }), profileOf({})];
        const rest = (template: Attribute[]): Attribute[] => template.filter((attribute) => !numbers.includes(attribute.type));
        expect(privateTemplate(place, type, without)).toEqual(rest(privateTemplate(place, type, full)));
        expect(macKeyTemplate(place, without)).toEqual(rest(macKeyTemplate(place, full)));
      }),
    );
  });

  it('idAfterGeneration: no CKA_ID at generation, and a label that carries it', () => {
    fc.assert(
      fc.property(quirks, types, (chosen, type) => {
        const id = newKeyId('general');
        for (const idAfterGeneration of [true, false]) {
          const profile = profileOf({ ...chosen, idAfterGeneration });
          const [template, macTemplate] = [privateTemplate({ id }, type, profile), macKeyTemplate({ id: macKeyId }, profile)];
          expect(typesOf(template).includes(pkcs11js.CKA_ID)).toBe(!idAfterGeneration);
          expect(typesOf(macTemplate).includes(pkcs11js.CKA_ID)).toBe(!idAfterGeneration);
          const label = String(valueOf(template, pkcs11js.CKA_LABEL));
          expect(idInLabel(label)).toBe(idAfterGeneration || chosen.privateKey.uniqueLabel ? id : undefined);
          expect(valueOf(macTemplate, pkcs11js.CKA_LABEL)).toBe('signetd secrets');
        }
      }),
    );
  });

  it('uniqueLabel: no two keys share a label; without it all do', () => {
    const [first, second] = [newKeyId('caller'), newKeyId('caller')];
    const unique = profileOf({ privateKey: { uniqueLabel: true } });
    expect(labelOf({ id: first }, unique)).not.toBe(labelOf({ id: second }, unique));
    expect(labelOf({ id: first }, profileOf({}))).toBe(labelOf({ id: second }, profileOf({})));
  });

  it('publicKey.onToken: the public half is a token object that bears the name of the private one', () => {
    const id = newKeyId('caller');
    const onToken = publicTemplate({ id }, 'P-256', profileOf({ publicKey: { onToken: true } }));
    expect(valueOf(onToken, pkcs11js.CKA_TOKEN)).toBe(true);
    expect(valueOf(onToken, pkcs11js.CKA_ID)).toEqual(Buffer.from(id, 'hex'));
    const inSession = publicTemplate({ id }, 'P-256', profileOf({}));
    expect(valueOf(inSession, pkcs11js.CKA_TOKEN)).toBe(false);
    expect(typesOf(inSession)).not.toContain(pkcs11js.CKA_ID);
  });

  it('macKey.keyType: the type of the MAC key', () => {
    for (const [name, number] of Object.entries(macKeyTypes)) {
      expect(valueOf(macKeyTemplate('session', profileOf({ macKey: { keyType: name } })), pkcs11js.CKA_KEY_TYPE)).toBe(number);
    }
  });

  it('a label that is not ours carries no identifier', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `signetd ${text}`),
        ),
        (label) => {
          const id = idInLabel(label);
          if (id !== undefined) expect(label).toBe(`signetd ${id}`);
        },
      ),
    );
    expect(idInLabel(`signetd ${'00'.repeat(17)}`)).toBeUndefined();
  });
});
