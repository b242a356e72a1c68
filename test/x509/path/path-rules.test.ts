import { beforeAll, describe, expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { checkPath, type PathOptions, type ValidPath } from '../../../src/x509/path/check-path.ts';
import { Effort } from '../../../src/x509/path/effort.ts';
import type { PathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { PathFault, TooMuchEffort } from '../../../src/x509/path/path-fault.ts';
import { basicConstraints, extension, extendedKeyUsage, keyUsage, type Extension } from '../../../src/certificates/standard-extensions.ts';
import { at, certified, entity, lifetime, type Entity } from './scratch-certificates.ts';

const [root, upper, middle, person] = ['Root', 'Upper', 'Middle', 'Person'].map((name) => entity(name)) as [Entity, Entity, Entity, Entity];
const usage = keyUsage(['keyCertSign', 'cRLSign']);
const ca = (pathLength?: number): readonly Extension[] => [basicConstraints(pathLength), usage];
const policies = (...list: string[]): Extension =>
  extension(oids.certificatePolicies, der.sequence(...list.map((one) => der.sequence(der.oid(one)))));
const inhibitAnyPolicy = (skip: number): Extension => extension(oids.inhibitAnyPolicy, der.integer(skip), true);
const number = (tag: number, value: number): Uint8Array => der.implicitPrimitive(tag, Uint8Array.of(value));
const policyConstraints = (explicit: number | undefined, mapping: number | undefined): Extension =>
  extension(
    oids.policyConstraints,
    der.sequence(...(explicit === undefined ? [] : [number(0, explicit)]), ...(mapping === undefined ? [] : [number(1, mapping)])),
    true,
  );
const mappings = (...list: readonly (readonly [string, string])[]): Extension =>
  extension(oids.policyMappings, der.sequence(...list.map(([from, to]) => der.sequence(der.oid(from), der.oid(to)))), true);
const noPolicy = 'no certificate policy is valid, but one is required';

let anchor: PathCertificate;
beforeAll(async () => {
  anchor = await certified(root, root, ca());
});

interface Links {
  readonly upper?: readonly Extension[];
  readonly middle?: readonly Extension[];
  readonly person?: readonly Extension[];
}

/** Root, upper, middle, person. */
async function chain(links: Links, options: Partial<PathOptions> = {}): Promise<ValidPath> {
  const path = [
    await certified(upper, root, links.upper ?? ca()),
    await certified(middle, upper, links.middle ?? ca()),
    await certified(person, middle, links.person ?? []),
  ];
  return checkPath(anchor, path, { at, ...options });
}

async function outcome(links: Links, options: Partial<PathOptions> = {}): Promise<string> {
  try {
    await chain(links, options);
    return 'valid';
  } catch (error) {
    if (error instanceof PathFault) return error.message;
    throw error;
  }
}

describe('a certificate', () => {
  it('is valid from its first to its last second, and not before or after', async () => {
    const target = await certified(person, root, []);
    const valid = (moment: number): string => {
      try {
        checkPath(anchor, [target], { at: new Date(moment) });
        return 'valid';
      } catch (error) {
        return error instanceof PathFault ? error.message : String(error);
      }
    };
    const [begin, end] = [lifetime.notBefore.getTime(), lifetime.notAfter.getTime()];
    expect([valid(begin), valid(end)]).toEqual(['valid', 'valid']);
    expect(valid(begin - 1)).toContain('not valid before 2026-01-01');
    expect(valid(end + 1)).toContain('not valid after 2027-01-01');
  });

  it.each([
    ['keyUsage', usage],
    ['extendedKeyUsage', extension(oids.extendedKeyUsage, der.sequence(der.oid(oids.timeStamping)), true)],
    ['basicConstraints', basicConstraints()],
    ['subjectAltName', extension(oids.subjectAltName, der.sequence(der.implicitPrimitive(1, Buffer.from('a@example.org'))), true)],
    ['certificatePolicies', extension(oids.certificatePolicies, der.sequence(der.sequence(der.oid('1.1'))), true)],
    ['policyConstraints', policyConstraints(5, 5)],
    ['inhibitAnyPolicy', inhibitAnyPolicy(5)],
    [
      'crlDistributionPoints',
      extension(
        oids.crlDistributionPoints,
        der.sequence(der.sequence(der.explicit(0, der.implicitConstructed(0, der.implicitPrimitive(6, Buffer.from('http://a.example/')))))),
        true,
      ),
    ],
    ['authorityKeyIdentifier', extension(oids.authorityKeyIdentifier, der.sequence(der.implicitPrimitive(0, Uint8Array.of(1))), true)],
    ['subjectKeyIdentifier', extension(oids.subjectKeyIdentifier, der.octetString(Uint8Array.of(1)), true)],
  ])('may have a critical extension that is understood: %s', async (_name, one) => {
    expect(await outcome({ person: [one] })).toBe('valid');
  });

  it('may have an unknown extension that is not critical; one that is ends the path, in a CA certificate too', async () => {
    const unknown = (critical: boolean): Extension => extension('1.2.3.4', der.nullValue(), critical);
    expect(await outcome({ person: [unknown(false)], middle: [...ca(), unknown(false)] })).toBe('valid');
    expect(await outcome({ person: [unknown(true)] })).toBe('unknown critical extension 1.2.3.4');
    expect(await outcome({ middle: [...ca(), unknown(true)] })).toBe('unknown critical extension 1.2.3.4');
  });

  it('is named by its place in the path', async () => {
    const places = await Promise.all(
      [{ upper: [usage] }, { middle: [usage] }, { person: [extension('1.2.3.4', der.nullValue(), true)] }].map(async (links) =>
        chain(links).then(
          () => undefined,
          (error: unknown) => (error instanceof PathFault ? error.index : undefined),
        ),
      ),
    );
    expect(places).toEqual([0, 1, 2]);
  });
});

describe('each certificate of a path', () => {
  const faultOf = (path: readonly PathCertificate[]): string | undefined => {
    try {
      checkPath(anchor, path, { at });
      return undefined;
    } catch (error) {
      if (error instanceof PathFault) return `${error.index}: ${error.message}`;
      throw error;
    }
  };

  it('is signed by the key of the one above it, and names it as its issuer', async () => {
    const [first, target] = [await certified(upper, root, ca()), await certified(person, upper, [])];
    expect(faultOf([first, target])).toBeUndefined();
    const impostor = { ...entity('Upper'), name: upper.name };
    expect(faultOf([first, await certified(person, impostor, [])])).toBe("1: the signature does not verify under the issuer's key");
    const renamed = { ...upper, name: middle.name };
    expect(faultOf([first, await certified(person, renamed, [])])).toBe('1: the issuer name does not match');
    expect(faultOf([await certified(upper, middle, ca()), target])).toBe("0: the signature does not verify under the issuer's key");
  });

  it('that signs others is of version 3: older ones do not say that they may (RFC 5280 §6.1.4 k)', async () => {
    const [first, target] = [await certified(upper, root, ca()), await certified(person, upper, [])];
    for (const version of [0, 1]) expect(faultOf([{ ...first, version }, target])).toBe('0: not a CA certificate');
    expect(faultOf([first, { ...target, version: 0 }])).toBeUndefined();
  });

  it('is where no policy is left, if one is required', async () => {
    const [first, second, target] = [
      await certified(upper, root, [...ca(), policies('1.1')]),
      await certified(middle, upper, ca()),
      await certified(person, middle, [policies('1.1')]),
    ];
    expect(() => checkPath(anchor, [first, second, target], { at, explicitPolicy: true })).toThrow(
      expect.objectContaining({ message: noPolicy, index: 1 }) as Error,
    );
  });
});

describe('a CA certificate', () => {
  it('says that it is one, and that its key signs certificates where it says at all what the key is for', async () => {
    expect(await outcome({ middle: [basicConstraints()] })).toBe('valid');
    expect(await outcome({ middle: [usage] })).toBe('not a CA certificate');
    expect(await outcome({ middle: [extension(oids.basicConstraints, der.sequence(), true), usage] })).toBe('not a CA certificate');
    expect(await outcome({ middle: [basicConstraints(), keyUsage(['cRLSign'])] })).toBe(
      'its key usage does not allow signing certificates',
    );
  });

  it('allows as many others below it as its path length says; itself and the last are not counted', async () => {
    expect(await outcome({ upper: ca(1) })).toBe('valid');
    expect(await outcome({ upper: ca(0) })).toBe('path length constraint exceeded');
    expect(await outcome({ middle: ca(0) })).toBe('valid');
    expect(await outcome({ upper: ca(1), middle: ca(5) })).toBe('valid');
    expect(await outcome({ upper: ca(0), middle: ca(5) })).toBe('path length constraint exceeded');
  });

  it('that issued itself anew is not counted, and inhibits nothing by itself', async () => {
    const renewed = { ...entity('Upper'), name: upper.name };
    const path = async (pathLength: number): Promise<string> => {
      const certificates = [
        await certified(upper, root, ca(pathLength)),
        await certified(renewed, upper, ca()),
        await certified(person, renewed, []),
      ];
      try {
        checkPath(anchor, certificates, { at });
        return 'valid';
      } catch (error) {
        return error instanceof PathFault ? error.message : String(error);
      }
    };
    expect(await path(0)).toBe('valid');
  });

  it('has to serve for a purpose where it limits them; the last has to name it', async () => {
    const stamping = extendedKeyUsage([oids.timeStamping]);
    const purpose = oids.timeStamping;
    const any = extendedKeyUsage([oids.anyExtendedKeyUsage]);
    const wrong = extendedKeyUsage([oids.ocspSigning]);
    expect(await outcome({ person: [stamping] }, { purpose })).toBe('valid');
    expect(await outcome({ middle: [...ca(), stamping], upper: [...ca(), any], person: [stamping] }, { purpose })).toBe('valid');
    for (const links of [{ person: [any] }, { person: [] }, { person: [wrong] }, { person: [stamping], upper: [...ca(), wrong] }])
      expect(await outcome(links, { purpose })).toBe(`its extended key usage does not include ${purpose}`);
    expect(await outcome({ person: [wrong] })).toBe('valid');
  });
});

describe('the policies that a path has to have', () => {
  it('are told as the anchor calls them', async () => {
    const links = { upper: [...ca(), policies('1.1', '1.2')], middle: [...ca(), policies('1.2', '1.3')], person: [policies('1.2')] };
    expect([...(await chain(links)).policies]).toEqual(['1.2']);
    expect([...(await chain(links, { policies: new Set(['1.2', '1.9']) })).policies]).toEqual(['1.2']);
    expect([...(await chain({})).policies]).toEqual([]);
    expect([...checkPath(anchor, [], { at }).policies]).toEqual([oids.anyPolicy]);
  });

  it('are none unless one is required: by who asks, or by a CA certificate, that many certificates further down', async () => {
    expect(await outcome({})).toBe('valid');
    expect(await outcome({}, { explicitPolicy: true })).toBe(noPolicy);
    expect(await outcome({}, { explicitPolicy: false })).toBe('valid');
    for (const [place, skip, expected] of [
      ['upper', 0, noPolicy],
      ['upper', 2, noPolicy],
      ['upper', 3, 'valid'],
      ['middle', 1, noPolicy],
      ['middle', 2, 'valid'],
    ] as const)
      expect(await outcome({ [place]: [...ca(), policyConstraints(skip, undefined)] }), `${place} ${skip}`).toBe(expected);
    expect(await outcome({ person: [policyConstraints(0, undefined)] })).toBe(noPolicy);
    expect(await outcome({ person: [policyConstraints(1, undefined)] })).toBe('valid');
    // A lower one may not take back what one above has required.
    expect(await outcome({ upper: [...ca(), policyConstraints(1, undefined)], middle: [...ca(), policyConstraints(9, undefined)] })).toBe(
      noPolicy,
    );
  });

  it('have to be one of those of who asks', async () => {
    const links = { upper: [...ca(), policies('1.1')], middle: [...ca(), policies('1.1')], person: [policies('1.1')] };
    expect(await outcome(links, { explicitPolicy: true, policies: new Set(['1.1']) })).toBe('valid');
    expect(await outcome(links, { explicitPolicy: true, policies: new Set(['1.2']) })).toBe(noPolicy);
    expect(await outcome(links, { policies: new Set(['1.2']) })).toBe('valid');
  });

  it('are not given by any-policy where that is inhibited, that many certificates further down', async () => {
    const any = policies(oids.anyPolicy);
    const required = { explicitPolicy: true };
    const links = (upperMore: readonly Extension[], middleMore: readonly Extension[] = []): Links => ({
      upper: [...ca(), any, ...upperMore],
      middle: [...ca(), any, ...middleMore],
      person: [any],
    });
    expect(await outcome(links([]), required)).toBe('valid');
    expect(await outcome(links([inhibitAnyPolicy(0)]), required)).toBe(noPolicy);
    expect(await outcome(links([inhibitAnyPolicy(1)]), required)).toBe(noPolicy);
    expect(await outcome(links([inhibitAnyPolicy(2)]), required)).toBe('valid');
    expect(await outcome(links([inhibitAnyPolicy(1)], [inhibitAnyPolicy(9)]), required)).toBe(noPolicy);
    expect(await outcome(links([]), { ...required, anyPolicyInhibited: true })).toBe(noPolicy);
  });

  it('are mapped while that is not inhibited, and any-policy never', async () => {
    const required = { explicitPolicy: true };
    const mapped = (upperMore: readonly Extension[]): Links => ({
      upper: [...ca(), policies('1.1'), ...upperMore],
      middle: [...ca(), policies('1.1'), mappings(['1.1', '2.1'])],
      person: [policies('2.1')],
    });
    expect(await outcome(mapped([]), required)).toBe('valid');
    expect(await outcome(mapped([policyConstraints(undefined, 1)]), required)).toBe('valid');
    expect(await outcome(mapped([policyConstraints(undefined, 0)]), required)).toBe(noPolicy);
    expect(await outcome(mapped([]), { ...required, policyMappingInhibited: true })).toBe(noPolicy);
    for (const mapping of [
      ['1.1', oids.anyPolicy],
      [oids.anyPolicy, '1.1'],
    ] as const)
      expect(await outcome({ middle: [...ca(), mappings(mapping)] })).toBe('maps anyPolicy');
  });
});

describe('the effort of one search', () => {
  it('is 100 ms of signatures as their keys cost them, of which none is verified twice', async () => {
    const slow = entity('Slow', 'P-521');
    const issuer = await certified(slow, root, ca());
    const certificates = await Promise.all(Array.from({ length: 51 }, async () => certified(person, slow, [])));
    let asked = 0;
    const counted = certificates.map((one, index) => ({
      ...one,
      isSignedBy: (by: PathCertificate): boolean => {
        asked += 1;
        return index % 2 === 0 && one.isSignedBy(by);
      },
    }));
    const effort = new Effort();
    const verdicts = counted.slice(0, 50).map((certificate) => effort.isSignedBy(certificate, issuer));
    expect(counted.slice(0, 50).map((certificate) => effort.isSignedBy(certificate, issuer))).toEqual(verdicts);
    expect(verdicts).toEqual(verdicts.map((_verdict, index) => index % 2 === 0));
    expect(asked).toBe(50);
    expect(() => counted[50] && effort.isSignedBy(counted[50], issuer)).toThrow(TooMuchEffort);
    expect(asked).toBe(50);
    // What an earlier search verified costs this one nothing.
    expect(certificates.filter((_one, index) => index % 2 === 0).map((one) => new Effort().isSignedBy(one, issuer))).not.toContain(false);
  });

  it('tells issuers apart by their keys', async () => {
    const effort = new Effort();
    const target = await certified(person, root, []);
    expect(effort.isSignedBy(target, await certified(upper, root, ca()))).toBe(false);
    expect(effort.isSignedBy(target, anchor)).toBe(true);
  });

  it('is 50,000 comparisons of names', () => {
    const effort = new Effort();
    effort.compare(20_000);
    effort.compare(30_000);
    expect(() => effort.compare(1)).toThrow(TooMuchEffort);
  });
});
