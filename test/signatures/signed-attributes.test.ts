import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { children, readAll, readObjectIdentifier, type DerElement } from '../../src/asn1/reader.ts';
import { isWellFormedDer } from '../../src/asn1/well-formed.ts';
import type { Certificate } from '../../src/x509/certificate.ts';
import { cmsFormat, type CmsParameters } from '../../src/signatures/cms/cms.ts';
import { usualProperties, type SignedProperties } from '../../src/signatures/request/signed-properties.ts';
import { documentOf, joined, opensslVerifies, signedBy, softwareSigner } from './software-signer.ts';

const policy = {
  oid: '1.2.250.1.1.1.1',
  hash: 'sha256',
  digest: createHash('sha256').update('policy').digest(),
  url: 'https://policy.example/v1.pdf',
} as const;
const place = { city: 'Orléans', stateOrProvince: 'Centre', postalCode: '45000', countryCode: 'FR' };
const noPlace = { city: undefined, stateOrProvince: undefined, postalCode: undefined, countryCode: 'BE' };
const sha512 = { scheme: 'RSA_PKCS1', hash: 'sha512' } as const;
const pss = { scheme: 'RSA_PSS', hash: 'sha384', mgfHash: 'sha384', saltBytes: 48 } as const;

/** Every option, by the name of its golden file. */
const options: Record<string, Partial<SignedProperties>> = {
  usual: {},
  'signing-time-client': { signingTime: new Date() },
  'signing-time-none': { signingTime: 'NONE' },
  'commitment-approval': { commitments: ['APPROVAL'] },
  'commitment-origin': { commitments: ['ORIGIN'] },
  'commitment-delivery': { commitments: ['DELIVERY'] },
  'commitment-receipt': { commitments: ['RECEIPT'] },
  'commitment-sender': { commitments: ['SENDER'] },
  'commitment-text': { commitmentText: 'Lu et approuvé' },
  'commitment-text-and-origin': { commitments: ['ORIGIN'], commitmentText: 'Lu et approuvé' },
  'policy-implicit': { policy: 'IMPLICIT' },
  'policy-explicit': { policy },
  'policy-explicit-sha1': { policy: { ...policy, hash: 'sha1', digest: Buffer.alloc(20, 7) } },
  place: { place },
  'place-country': { place: noPlace },
  'place-postal-code': { place: { ...noPlace, postalCode: '1000' } },
  roles: { claimedRoles: ['Notaire', 'Directrice générale', 'Notaire'] },
  everything: { signingTime: new Date(), commitments: ['SENDER'], policy, place, claimedRoles: ['Notaire'] },
};

const signer = softwareSigner('options', 'rsa');

/** No real one: what depends on it is the same every time. */
const certificate: Certificate = {
  ...signer.certificate,
  der: Buffer.from('the certificate'),
  serialNumber: Uint8Array.of(5),
  issuer: der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String('golden')))),
};
const moment = { now: new Date('2026-01-02T03:04:05.678Z') };

function attributesOf(parameters: Partial<CmsParameters>): Uint8Array {
  const { signingTime = 'SYSTEM' } = parameters.properties ?? {};
  const properties = { ...usualProperties, ...parameters.properties };
  const fixed = signingTime instanceof Date ? { ...properties, signingTime: new Date('2025-06-07T08:09:10Z') } : properties;
  const all: CmsParameters = { algorithm: signer.algorithm, detached: true, coSigning: 'NEVER', ...parameters, properties: fixed };
  const [prepared] = cmsFormat.prepare([documentOf(Buffer.from('golden'))], all, { ...signer, certificate }, moment);
  return prepared?.dataToSign ?? new Uint8Array();
}

/** One line an element. */
function shown(element: DerElement, indent = ''): string {
  const tag = element.tag.toString(16).padStart(2, '0');
  if (element.constructed) return [`${indent}${tag}`, ...children(element).map((part) => shown(part, `${indent}  `))].join('\n');
  const text =
    element.tag === 0x06
      ? readObjectIdentifier(element)
      : Buffer.from(element.content).toString(element.tag === 0x0c || element.tag === 0x16 ? 'utf8' : 'hex');
  return `${indent}${tag} ${text}`.trimEnd();
}

/** Every SET, and every SEQUENCE of it, wherever it is. */
function setsIn(element: DerElement): DerElement[] {
  return element.constructed ? [...(element.tag === 0x31 ? [element] : []), ...children(element).flatMap(setsIn)] : [];
}

describe('the signed attributes', () => {
  it.each(Object.entries(options))('of %s are those of the golden file, in DER', async (name, properties) => {
    const attributes = attributesOf({ properties: { ...usualProperties, ...properties } });
    expect(isWellFormedDer(attributes)).toBe(true);
    for (const set of setsIn(readAll(attributes))) {
      const parts = children(set).map(({ raw }) => Buffer.from(raw));
      expect(parts).toEqual(parts.toSorted((left, right) => left.compare(right)));
    }
    await expect(`${shown(readAll(attributes))}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  it.each([
    ['sha512', sha512],
    ['pss-sha384', pss],
  ])('go by the hash of the algorithm: %s', async (name, algorithm) => {
    await expect(`${shown(readAll(attributesOf({ algorithm })))}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  it.each(Object.entries(options))('of %s are accepted by OpenSSL', (_name, properties) => {
    const all = { ...usualProperties, ...properties };
    for (const algorithm of [signer.algorithm, pss]) {
      const cms = joined(signedBy(signer, Buffer.from('document'), { properties: all, algorithm }));
      expect(opensslVerifies(cms, [signer])).toContain('successful');
    }
  });
});
