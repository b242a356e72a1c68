import { createHash, createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SignatureFormat } from '../../../src/signatures/format.ts';
import type { Level, LevelTrust, LevelWriter, Raised } from '../../../src/signatures/levels/level-writer.ts';
import type { Additions } from '../../../src/signatures/levels/long-term-data.ts';
import { detachedFormat } from '../../../src/signatures/xades/detached.ts';
import { detachedReader } from '../../../src/signatures/xades/detached-reader.ts';
import { envelopedFormat } from '../../../src/signatures/xades/enveloped.ts';
import { envelopingFormat } from '../../../src/signatures/xades/enveloping.ts';
import { wholeDocument, xadesLevels } from '../../../src/signatures/xades/level-writer.ts';
import type { XadesParameters } from '../../../src/signatures/xades/xades-parameters.ts';
import { timeStampRequest } from '../../../src/timestamp/request.ts';
import { readTimeStampResponse } from '../../../src/timestamp/response.ts';
import { XmlDocument } from '../../../src/xml/xml-document.ts';
import { derOf, read, ScratchChain } from '../levels/scratch-chain.ts';
import { chainOf, joined, signingOf, theOne, valueOf, type SoftwareSigner } from '../software-signer.ts';
import { detachedParameters, documentNamed, envelopedParameters, xadesParameters } from './xades-signer.ts';

const chain = new ScratchChain();
afterAll(() => {
  chain.remove();
});

const signer: SoftwareSigner = {
  ...chain.signer(),
  ...{ privateKey: createPrivateKey(readFileSync(chain.person.key)), pem: '', algorithm: { scheme: 'ECDSA', hash: 'sha256' } },
};
const trust: LevelTrust = { timeStampAnchors: [read(chain.root)], allowSha1: false, signerMayBeRevoked: false, now: new Date() };
const pemToDer = (pem: string): Buffer => Buffer.from(pem.replaceAll(/-----[A-Z0-9 ]+-----|\s/g, ''), 'base64');

async function tokenOver(value: Uint8Array): Promise<Uint8Array> {
  const request = timeStampRequest({ hash: 'sha256', value }, { policy: undefined, nonce: undefined });
  const response = readTimeStampResponse(await chain.stampAuthority().respond(request));
  if ('refusal' in response) throw new Error('the authority refuses');
  return response.token;
}

let crls: Uint8Array[];
beforeAll(() => {
  crls = [chain.root, chain.issuing].map((one) => new Uint8Array(pemToDer(one.revocationList())));
});
const longTermData = (): NonNullable<Additions['longTermData']> => ({
  ...{ certificates: [chain.issuing, chain.stamper].map(derOf), crls, ocspAnswers: [] },
});

/** A signature of one form, and what the service does to raise it. */
interface Form {
  /** The text of the evidence with these additions. */
  finished(additions: Additions): string;
  stampedBytes(): Uint8Array;
  archiveImprint(additions: Additions): Uint8Array;
  /** `changed`: the evidence, as it would be if the service had made it so. */
  levelOf(additions: Additions, changed?: (xml: string) => string, wanted?: Level): Level;
}

function formOf<P extends XadesParameters, S>(
  format: SignatureFormat<P, S>,
  levels: LevelWriter<S>,
  parameters: P,
  contents: readonly string[],
): Form {
  const documents = contents.map((content, index) => documentNamed(content, `${index}.xml`));
  const prepared = theOne(format.prepare(documents, parameters, chainOf(signer), { now: new Date() }));
  const value = valueOf(signer, prepared, parameters.algorithm);
  const signing = signingOf(signer, parameters.algorithm);
  const evidenceOf = (additions: Additions) => format.complete(prepared, value, signing, additions);
  const raised = (additions: Additions): Raised<S> => ({ prepared, signing, value, additions });
  return {
    finished: (additions) => joined(evidenceOf(additions).content).toString(),
    stampedBytes: () => levels.stampedBytes(prepared, value, signing),
    archiveImprint: (additions) => levels.archiveImprint(evidenceOf(additions), raised(additions)).value,
    levelOf(additions, changed = (xml) => xml, wanted = 'LTA') {
      const evidence = evidenceOf(additions);
      const content = [Buffer.from(changed(joined(evidence.content).toString()))];
      return levels.levelOf({ ...evidence, content }, raised(additions), wanted, trust);
    },
  };
}

const xml = '<a xmlns="urn:a">\n<b c="d"/>é<!-- e --></a>';
const forms: readonly [string, (more?: Partial<XadesParameters>) => Form][] = [
  ['enveloped', (more) => formOf(envelopedFormat, xadesLevels(wholeDocument), envelopedParameters(own(more)), [xml])],
  ['enveloping', (more) => formOf(envelopingFormat, xadesLevels(wholeDocument), xadesParameters(own(more)), [xml])],
  [
    'detached',
    (more) => formOf(detachedFormat, xadesLevels(detachedReader), detachedParameters({ ...own(more), keepsContents: true }), [xml, 'text']),
  ],
  [
    'detached and canonical',
    (more) =>
      formOf(
        detachedFormat,
        xadesLevels(detachedReader),
        detachedParameters({ ...own(more), keepsContents: true, documentCanonicalisation: 'C14N' }),
        [xml, 'text'],
      ),
  ],
];
const own = (more: Partial<XadesParameters> = {}): Partial<XadesParameters> => ({ algorithm: signer.algorithm, ...more });

/** What a time-stamp of the signature needs, and an archive time-stamp of all that. */
async function additionsOf(form: Form, level: 'T' | 'LT' | 'LTA'): Promise<Additions> {
  const timeStamp = await tokenOver(createHash('sha256').update(form.stampedBytes()).digest());
  if (level === 'T') return { timeStamp };
  const longTerm = { timeStamp, longTermData: longTermData() };
  return level === 'LT' ? longTerm : { ...longTerm, archive: await tokenOver(form.archiveImprint(longTerm)) };
}

/** The canonical form of an element of a document, by its name; exclusive, without comments. */
function octetsOf(document: XmlDocument, name: string, index = 0): Buffer {
  const apex = Array.from(document.elements()).filter((one) => document.localName(one) === name)[index];
  if (apex === undefined) throw new RangeError(`there is no ${name}`);
  return document.canonical({ algorithm: 'EXC_C14N', apex });
}

const unsignedNames = ['SignatureTimeStamp', 'CertificateValues', 'RevocationValues'];

describe.each(forms)('XAdES, %s', (name, formWith) => {
  it.each(['T', 'LT', 'LTA'] as const)('reaches level %s by what it contains', async (level) => {
    const form = formWith();
    expect(form.levelOf(await additionsOf(form, level))).toBe(level);
  });

  it('a time-stamp covers SignatureValue with its tags, in the canonical form of the version', async () => {
    for (const version of ['VERSION_1_1_1', 'VERSION_1_2_2', 'VERSION_1_3_2'] as const) {
      const form = formWith({ version });
      const additions = await additionsOf(form, 'T');
      using document = XmlDocument.parse(Buffer.from(form.finished(additions)));
      const apex = Array.from(document.elements()).find((one) => document.localName(one) === 'SignatureValue');
      const algorithm = version === 'VERSION_1_1_1' ? 'C14N' : 'EXC_C14N';
      expect(Buffer.from(form.stampedBytes()).toString()).toBe(document.canonical({ algorithm, apex }).toString());
      expect(form.levelOf(additions)).toBe('T');
    }
  });

  it('an archive time-stamp covers the data, the signature and what was added to it before', async () => {
    const form = formWith();
    const additions = await additionsOf(form, 'LT');
    using document = XmlDocument.parse(Buffer.from(form.finished(additions)));
    const data = {
      enveloped: () => [Buffer.from('<a xmlns="urn:a">\n<b c="d"></b>é</a>')],
      enveloping: () => [octetsOf(document, 'Object', 1)],
      detached: () => [xml, 'text'].map((one) => Buffer.from(one)),
      'detached and canonical': () => [Buffer.from('<a xmlns="urn:a">\n<b c="d"></b>é</a>'), Buffer.from('text')],
    }[name];
    const expected = createHash('sha256');
    for (const one of data?.() ?? []) expected.update(one);
    expected.update(octetsOf(document, 'SignedProperties'));
    for (const part of ['SignedInfo', 'SignatureValue', 'KeyInfo', ...unsignedNames]) expected.update(octetsOf(document, part));
    // The Object with the properties is left out; another one is covered, as data and once more.
    if (name === 'enveloping') expected.update(octetsOf(document, 'Object', 1));
    expect(Buffer.from(form.archiveImprint(additions)).toString('hex')).toBe(expected.digest('hex'));
  });

  it('is refused with a time-stamp of something else', async () => {
    const form = formWith();
    const additions = await additionsOf(form, 'LTA');
    const wrong = await tokenOver(createHash('sha256').update('other').digest());
    expect(() => form.levelOf({ ...additions, timeStamp: wrong })).toThrow();
    expect(() => form.levelOf({ ...additions, archive: wrong })).toThrow();
    const { longTermData: known = longTermData() } = additions;
    const more = { ...known, certificates: [...known.certificates, derOf(chain.root)] };
    expect(() => form.levelOf({ ...additions, longTermData: more })).toThrow();
  });
});

describe('the properties above baseline B', () => {
  const tokenText = (token: Uint8Array): string => Buffer.from(token).toString('base64');
  const one = Buffer.from('one');

  it.each([
    ['VERSION_1_1_1', '<xad:HashDataInfo uri="#value"></xad:HashDataInfo>'],
    [
      'VERSION_1_2_2',
      '<xad:Include URI="#value"></xad:Include><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:CanonicalizationMethod>',
    ],
    ['VERSION_1_3_2', '<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:CanonicalizationMethod>'],
    ['VERSION_1_4_1', '<ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:CanonicalizationMethod>'],
  ] as const)('are written as %s says', (version, covered) => {
    const written = enveloping({ version, ids: { signatureValue: 'value' } }).finished({ timeStamp: one });
    expect(written).toContain(
      `</xad:SignedProperties><xad:UnsignedProperties><xad:UnsignedSignatureProperties><xad:SignatureTimeStamp>${covered}<xad:EncapsulatedTimeStamp>b25l</xad:EncapsulatedTimeStamp></xad:SignatureTimeStamp></xad:UnsignedSignatureProperties></xad:UnsignedProperties></xad:QualifyingProperties>`,
    );
  });

  it('hold certificates, CRLs and OCSP answers, each list only where it has something', () => {
    const write = (crlList: readonly Uint8Array[], ocspAnswers: readonly Uint8Array[]): string =>
      enveloping().finished({ timeStamp: one, longTermData: { certificates: [one], crls: crlList, ocspAnswers } });
    const encapsulated = (kind: string, text: string): string =>
      `<xad:Encapsulated${kind}>${tokenText(Buffer.from(text))}</xad:Encapsulated${kind}>`;
    const values = (content: string): string =>
      `<xad:CertificateValues>${encapsulated('X509Certificate', 'one')}</xad:CertificateValues><xad:RevocationValues>${content}</xad:RevocationValues></xad:UnsignedSignatureProperties>`;
    const [first, second, third] = ['crl 1', 'crl 2', 'ocsp'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];
    const ofCrls = `<xad:CRLValues>${encapsulated('CRLValue', 'crl 1')}${encapsulated('CRLValue', 'crl 2')}</xad:CRLValues>`;
    const ofOcsp = `<xad:OCSPValues>${encapsulated('OCSPValue', 'ocsp')}</xad:OCSPValues>`;
    expect(write([first, second], [third])).toContain(values(`${ofCrls}${ofOcsp}`));
    expect(write([first, second], [])).toContain(values(ofCrls));
    expect(write([], [third])).toContain(values(ofOcsp));
  });

  it('end with the archive time-stamp, in the namespace of version 1.4.1', () => {
    expect(enveloping().finished({ timeStamp: one, archive: one })).toContain(
      '</xad:SignatureTimeStamp><xad141:ArchiveTimeStamp xmlns:xad141="http://uri.etsi.org/01903/v1.4.1#"><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:CanonicalizationMethod><xad:EncapsulatedTimeStamp>b25l</xad:EncapsulatedTimeStamp></xad141:ArchiveTimeStamp></xad:UnsignedSignatureProperties>',
    );
  });

  const enveloping = (more: Partial<XadesParameters> = {}): Form =>
    formOf(envelopingFormat, xadesLevels(wholeDocument), xadesParameters(own(more)), [xml]);

  describe('are read as they stand there', () => {
    const method = /<ds:CanonicalizationMethod[^>]*><\/ds:CanonicalizationMethod>(?=<xad:EncapsulatedTimeStamp)/g;

    it.each<[string, (xml: string) => string, string]>([
      [
        'a time-stamp with two tokens',
        (text) => text.replace(/<xad:EncapsulatedTimeStamp>[^<]*<\/xad:EncapsulatedTimeStamp>/, '$&$&'),
        'exactly one token',
      ],
      [
        'a time-stamp without a token',
        (text) => text.replace(/<xad:EncapsulatedTimeStamp>[^<]*<\/xad:EncapsulatedTimeStamp>/, ''),
        'exactly one token',
      ],
      ['an unknown canonicalisation', (text) => text.replace(/(.*)xml-exc-c14n#/s, '$1xml-other#'), 'an unknown canonicalisation'],
      ['no canonicalisation, which is the usual one', (text) => text.replaceAll(method, ''), 'for other data'],
      ['an archive time-stamp of another namespace', (text) => text.replace('v1.4.1#', 'v1.3.2#'), 'LT'],
    ])('%s', async (_what, changed, outcome) => {
      const form = enveloping();
      const additions = await additionsOf(form, 'LTA');
      const found = (): string => {
        try {
          return form.levelOf(additions, changed);
        } catch (error) {
          return error instanceof Error ? error.message : '';
        }
      };
      expect(found()).toContain(outcome);
    });

    it('and those above the level that is asked for are not needed', async () => {
      const form = enveloping();
      expect(form.levelOf(await additionsOf(form, 'LT'), undefined, 'T')).toBe('T');
    });

    it('not over SHA-1', async () => {
      const form = enveloping({ algorithm: { scheme: 'ECDSA', hash: 'sha1' } });
      const additions = await additionsOf(form, 'LT');
      expect(() => form.archiveImprint(additions)).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }) as Error);
    });
  });
});
