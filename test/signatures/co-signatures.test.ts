import { describe, expect, it } from 'vitest';
import { sign } from 'node:crypto';
import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import { children, readAll } from '../../src/asn1/reader.ts';
import { isWellFormedDer } from '../../src/asn1/well-formed.ts';
import { readSignedData } from '../../src/cms/read-signed-data.ts';
import { readSignerInfo } from '../../src/cms/read-signer-info.ts';
import { signedData } from '../../src/cms/signed-data.ts';
import { prepareSignatures } from '../../src/signatures/prepare-signatures.ts';
import type { ThreadFunction } from '../../src/threads/work-threads.ts';
import { usualProperties } from '../../src/signatures/request/signed-properties.ts';
import { openssl } from '../support/openssl.ts';
import {
  documentOf,
  joined,
  keyPem,
  opensslVerifies,
  planOf,
  preparedCms,
  signedBy,
  softwareSigner,
  type SoftwareSigner,
} from './software-signer.ts';

const first = softwareSigner('first');
const second = softwareSigner('second', 'rsa');
const third = softwareSigner('third');
const content = Buffer.from('Contrat entre deux parties\n'.repeat(400));

/** What OpenSSL signs, in PEM on its way out of the program. */
function opensslSigns(signer: SoftwareSigner, options: readonly string[], input: Uint8Array = content): Buffer {
  const pem = openssl(
    [
      'cms',
      '-sign',
      '-binary',
      '-nodetach',
      '-in',
      '{content}',
      '-signer',
      '{certificate}',
      '-inkey',
      '{key}',
      '-outform',
      'PEM',
      ...options,
    ],
    { content: input, certificate: signer.pem, key: keyPem(signer.privateKey) },
  );
  return Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
}

const inputs: Record<string, () => Buffer> = {
  'our own': () => joined(signedBy(first, content)),
  "OpenSSL's": () => opensslSigns(first, []),
  "OpenSSL's, streamed in BER": () => opensslSigns(first, ['-stream']),
  'with a key identifier': () => opensslSigns(first, ['-keyid']),
  'without signed attributes': () => opensslSigns(first, ['-noattr']),
  'with SHA-1': () => opensslSigns(first, ['-md', 'sha1']),
  'with PSS': () => opensslSigns(second, ['-md', 'sha384', '-keyopt', 'rsa_padding_mode:pss']),
  'of CAdES': () => opensslSigns(second, ['-cades', '-md', 'sha512']),
  'of another content type': () => opensslSigns(first, ['-econtent_type', '1.2.3.4']),
  'without certificates': () => opensslSigns(first, ['-nocerts']),
  'with empty content': () => opensslSigns(first, [], Buffer.alloc(0)),
};

const read = (cms: Uint8Array): ReturnType<typeof readSignedData> => readSignedData(bytesInMemory(cms));
const same = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

describe('a co-signature', () => {
  it.each(Object.entries(inputs))('stands beside a signature %s, whose bytes stay, and both hold', (name, make) => {
    const before = make();
    const coSigning = name === 'without certificates' ? 'UNCHECKED' : 'CHECKED';
    const after = joined(signedBy(third, before, { coSigning }));
    const [old, now] = [read(before), read(after)];
    expect(now.signerInfos.length).toBe(old.signerInfos.length + 1);
    expect(now.certificates.length).toBe(old.certificates.length + 1);
    for (const part of ['signerInfos', 'certificates'] as const) {
      expect(old[part].every((one) => now[part].some((other) => same(one, other)))).toBe(true);
    }
    expect(now.contentType).toBe(old.contentType);
    if (name === 'without certificates') return;
    expect(opensslVerifies(after, [first, second, third])).toContain('successful');
    expect(isWellFormedDer(after)).toBe(true);
  });

  it('can be repeated: three signers, the same one twice, each with another hash', () => {
    let cms = joined(signedBy(first, content));
    cms = joined(signedBy(second, cms, { coSigning: 'CHECKED', algorithm: { scheme: 'RSA_PKCS1', hash: 'sha512' } }));
    cms = joined(signedBy(third, cms, { coSigning: 'CHECKED' }));
    cms = joined(signedBy(third, cms, { coSigning: 'UNCHECKED' }));
    expect(opensslVerifies(cms, [first, second, third])).toContain('successful');
    const { signerInfos, certificates, digestAlgorithms } = read(cms);
    expect([signerInfos.length, certificates.length, digestAlgorithms.length]).toEqual([4, 3, 2]);
    for (const set of [signerInfos, certificates, digestAlgorithms]) {
      expect(set).toEqual(set.toSorted((left, right) => Buffer.compare(left, right)));
    }
  });

  it('may equal the existing one: RSA by one key in the same second', () => {
    const properties = { ...usualProperties, signingTime: new Date() };
    const before = joined(signedBy(second, content, { properties }));
    const after = joined(signedBy(second, before, { properties, coSigning: 'CHECKED' }));
    expect(read(after).signerInfos.length).toBe(2);
    expect(opensslVerifies(after, [second])).toContain('successful');
  });

  it('has the version that its parts require', () => {
    const versionOf = (cms: Uint8Array): number | undefined => {
      const [, wrapped] = children(readAll(cms));
      const [body] = wrapped === undefined ? [] : children(wrapped);
      const [version] = body === undefined ? [] : children(body);
      return version?.content[0];
    };
    const versions = ['our own', 'with a key identifier', 'of another content type'].map((name) =>
      versionOf(joined(signedBy(third, inputs[name]?.() ?? new Uint8Array(), { coSigning: 'CHECKED' }))),
    );
    expect(versions).toEqual([1, 3, 3]);
  });

  it('keeps revocation data and unsigned attributes as they are', () => {
    const base = read(joined(signedBy(first, content)));
    const [signerInfo = new Uint8Array()] = base.signerInfos;
    const unsigned = der.implicitConstructed(1, der.sequence(der.oid('1.2.3.4'), der.set(der.utf8String('unsigned'))));
    const withAttribute = der.sequence(...children(readAll(signerInfo)).map(({ raw }) => raw), unsigned);
    const revocationData = [
      der.sequence(der.utf8String('a CRL')),
      der.implicitConstructed(1, der.concat(der.oid('1.3.6.1.5.5.7.16.2'), der.nullValue())),
    ];
    const before = joined(signedData({ ...base, content: [content], revocationData, signerInfos: [withAttribute] }));
    const now = read(joined(signedBy(third, before, { coSigning: 'CHECKED' })));
    expect(now.revocationData.map((one) => Buffer.from(one))).toEqual(revocationData.map((one) => Buffer.from(one)));
    expect(now.signerInfos.some((one) => same(one, withAttribute))).toBe(true);
  });

  it('is a signature over the file where it was not asked for, where it is detached, and where the file is none that has content', () => {
    const attached = joined(signedBy(first, content));
    const detached = joined(signedBy(first, content, { detached: true }));
    const wholes: [Buffer, Parameters<typeof signedBy>[2]][] = [
      [attached, { coSigning: 'NEVER' }],
      [attached, { coSigning: 'NEVER', detached: true }],
      [detached, { coSigning: 'CHECKED' }],
      [content, { coSigning: 'CHECKED' }],
      [Buffer.alloc(0), { coSigning: 'CHECKED' }],
    ];
    for (const [document, parameters] of wholes) {
      const cms = joined(signedBy(third, document, parameters));
      expect(read(cms).signerInfos.length).toBe(1);
      expect(opensslVerifies(cms, [third], parameters?.detached === true ? document : undefined)).toContain('successful');
    }
  });
});

describe('the signatures of a document that is co-signed', () => {
  const prepare = (document: Uint8Array, coSigning: 'CHECKED' | 'UNCHECKED'): unknown => preparedCms(third, document, { coSigning });
  const refusal = (code: string, message: RegExp): Error =>
    expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

  it.each(Object.keys(inputs))('are refused where validation is asked for and one is broken: %s', (name) => {
    const broken = inputs[name]?.() ?? Buffer.alloc(0);
    const { signerInfos } = read(broken);
    const at = broken.indexOf(signerInfos[0] ?? '') + (signerInfos[0]?.length ?? 0) - 8;
    broken[at] = (broken[at] ?? 0) ^ 1;
    expect(() => prepare(broken, 'CHECKED')).toThrow(refusal('EXISTING_SIGNATURE_INVALID', /signature 1 of 1 /));
    expect(() => prepare(broken, 'UNCHECKED')).not.toThrow();
  });

  it('are refused if the signer has an RSA key with a public exponent below 65537', () => {
    for (const [publicExponent, outcome] of [
      [3, 'refused'],
      [17, 'refused'],
      [65_537, 'taken'],
    ] as const) {
      const document = opensslSigns(softwareSigner('small exponent', 'rsa', '5', publicExponent), []);
      if (outcome === 'taken') expect(() => prepare(document, 'CHECKED')).not.toThrow();
      else expect(() => prepare(document, 'CHECKED')).toThrow(refusal('EXISTING_SIGNATURE_INVALID', /public exponent/));
    }
  });

  describe('whose attributes were turned into the content', () => {
    const genuine = joined(signedBy(first, content));
    const [bytes = new Uint8Array()] = read(genuine).signerInfos;
    const attributes = readSignerInfo(bytes).signedAttributes ?? new Uint8Array();
    const members = children(readAll(attributes)).map(({ raw }) => raw);
    const indefinite = (tag: number, ...parts: readonly Uint8Array[]): Buffer =>
      Buffer.concat([Buffer.of(tag, 0x80), ...parts, Buffer.alloc(2)]);
    const longLength = (tag: number, body: Uint8Array): Buffer =>
      Buffer.concat([Buffer.of(tag, 0x83, 0, body.length >> 8, body.length & 255), body]);
    /** The SignedData of an attacker: a SignerInfo without signed attributes over other content, with a value that is right for it. */
    const attached = (octets: Uint8Array, value: Uint8Array): Buffer => {
      const parts = children(readAll(bytes));
      const [version, identifier, digest, , algorithm] = parts.map(({ raw }) => raw);
      const info = der.sequence(...[version, identifier, digest, algorithm].map((one) => one ?? new Uint8Array()), der.octetString(value));
      return joined(signedData({ ...read(genuine), content: [octets], signerInfos: [info] }));
    };
    const signedOver = (octets: Uint8Array): Buffer => attached(octets, sign('sha256', octets, first.privateKey));
    const refused = refusal('EXISTING_SIGNATURE_INVALID', /its content is the signed attributes of another signature/);

    it('are refused: the value that the signer made', () => {
      const forged = attached(attributes, readSignerInfo(bytes).signature);
      // The value is right, and others take it.
      opensslVerifies(forged, [first]);
      expect(() => prepare(forged, 'CHECKED')).toThrow(refused);
      expect(() => prepare(forged, 'UNCHECKED')).not.toThrow();
    });

    it.each<[string, () => Uint8Array]>([
      ['with the tag that they have in a SignerInfo', () => Buffer.concat([Buffer.of(0xa0), attributes.subarray(1)])],
      ['with an indefinite length', () => indefinite(0x31, ...members)],
      ['with both', () => indefinite(0xa0, ...members)],
      ['in another order', () => der.set(...members.toReversed())],
      ['with a length in more octets than needed', () => longLength(0x31, Buffer.concat(members))],
      [
        'with indefinite lengths inside',
        () => indefinite(0x31, ...members.map((one) => indefinite(0x30, ...children(readAll(one)).map(({ raw }) => raw)))),
      ],
      [
        'as the digest alone',
        () => der.set(...members.filter((one) => Buffer.from(one).includes(Buffer.from(der.oid(oids.messageDigest))))),
      ],
      ['with one that has two values', () => der.set(...members, der.sequence(der.oid('1.2.3'), der.set(der.nullValue(), der.integer(1))))],
      ['with one that has no value', () => der.set(...members, der.sequence(der.oid('1.2.3'), der.set()))],
    ])('are refused %s', (_form, octets) => {
      expect(() => prepare(signedOver(octets()), 'CHECKED')).toThrow(refused);
    });

    it.each<[string, () => Uint8Array]>([
      ['nothing', () => new Uint8Array()],
      ['text that begins with the same octet', () => Buffer.from('1. A contract')],
      ['a set of something else', () => der.set(der.integer(1), der.oid(oids.messageDigest))],
      [
        'attributes without a digest',
        () => der.set(...members.filter((one) => !Buffer.from(one).includes(Buffer.from(der.oid(oids.messageDigest))))),
      ],
      ['attributes with something behind them', () => Buffer.concat([attributes, Buffer.of(0)])],
      ['attributes that are cut off', () => attributes.subarray(0, -1)],
      ['attributes within something else', () => der.sequence(attributes)],
      [
        'an attribute with something beside its values',
        () => der.set(der.sequence(der.oid(oids.messageDigest), der.set(), der.nullValue())),
      ],
      ['an attribute whose values are no set', () => der.set(der.sequence(der.oid(oids.messageDigest), der.sequence()))],
    ])('are not taken for what they are not: %s', (_what, octets) => {
      expect(() => prepare(signedOver(octets()), 'CHECKED')).not.toThrow();
    });

    it('are content like any other of a signature that has attributes of its own', () => {
      expect(() => prepare(joined(signedBy(second, attributes)), 'CHECKED')).not.toThrow();
    });

    it('are found in an OCTET STRING in parts', () => {
      const parts = [attributes.subarray(0, 7), attributes.subarray(7)].map((one) => der.octetString(one));
      const whole = der.octetString(attributes);
      const forged = attached(attributes, readSignerInfo(bytes).signature);
      const at = forged.indexOf(whole);
      const before = forged.subarray(0, at);
      expect(at).toBeGreaterThan(0);
      // The lengths around it become indefinite: OpenSSL writes them so when it streams.
      const inner = children(readAll(children(children(readAll(forged))[1] ?? readAll(forged))[0]?.raw ?? forged)).map(({ raw }) => raw);
      const [version = before, digests = before, , ...rest] = inner;
      const encapsulated = indefinite(0x30, der.oid(oids.data), indefinite(0xa0, indefinite(0x24, ...parts)));
      const streamed = indefinite(
        0x30,
        der.oid(oids.signedData),
        indefinite(0xa0, indefinite(0x30, version, digests, encapsulated, ...rest)),
      );
      expect(() => prepare(streamed, 'CHECKED')).toThrow(refused);
    });
  });

  it('are refused if the content is another', () => {
    const cms = joined(signedBy(first, content));
    const at = cms.indexOf('deux');
    cms.write('TROI', at);
    expect(() => prepare(cms, 'CHECKED')).toThrow(refusal('EXISTING_SIGNATURE_INVALID', /does not match the content/));
  });

  it('are refused if the certificate beside them is another of the same name and number', () => {
    const parts = read(joined(signedBy(first, content)));
    const forged = softwareSigner('first').certificate.der;
    const cms = joined(signedData({ ...parts, content: [content], certificates: [forged] }));
    expect(() => prepare(cms, 'CHECKED')).toThrow(refusal('EXISTING_SIGNATURE_INVALID', /binds another certificate/));
    const none = joined(signedData({ ...parts, content: [content], certificates: [second.certificate.der] }));
    expect(() => prepare(none, 'CHECKED')).toThrow(refusal('EXISTING_SIGNATURE_INVALID', /comes without its signer's certificate/));
  });

  it('must be readable: what begins as a SignedData and is none is refused, not signed as content', () => {
    const cms = joined(signedBy(first, content));
    for (const damaged of [cms.subarray(0, -1), Buffer.concat([cms, Buffer.of(0)])]) {
      expect(() => prepare(damaged, 'UNCHECKED')).toThrow(refusal('DOCUMENT_INVALID', /begins like a CMS SignedData but is not one/));
    }
  });

  it('are bounded in number, those without signed attributes too', () => {
    const plain = read(opensslSigns(first, ['-noattr']));
    const many = (count: number): Buffer => {
      const signerInfos = Array.from({ length: count }, () => plain.signerInfos[0] ?? Buffer.alloc(0));
      return joined(signedData({ ...plain, content: [content], signerInfos }));
    };
    for (const coSigning of ['CHECKED', 'UNCHECKED'] as const) expect(() => prepare(many(500), coSigning)).not.toThrow();
    expect(() => prepare(many(501), 'CHECKED')).toThrow(refusal('UNSUPPORTED', /at most 500 signatures/));
  });

  it('are verified outside of the event loop, however small the document is', async () => {
    const cms = joined(signedBy(first, content));
    const asked: string[] = [];
    const threads = {
      async run<T>({ name, lane }: ThreadFunction): Promise<T> {
        asked.push(`${name}, ${lane}`);
        return Promise.reject(new Error('in a thread'));
      },
    };
    const prepared = async (coSigning: 'CHECKED' | 'UNCHECKED'): Promise<unknown> =>
      prepareSignatures(planOf(third, { coSigning }), [documentOf(cms)], threads);
    await expect(prepared('CHECKED')).rejects.toThrow('in a thread');
    expect(asked).toEqual(['prepareTask, parsing']);
    await prepared('UNCHECKED');
    expect(asked).toEqual(['prepareTask, parsing']);
  });
});
