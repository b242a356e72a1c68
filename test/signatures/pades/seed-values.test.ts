import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfReference } from '../../../src/pdf/objects.ts';
import type { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { padesEntry } from '../../../src/signatures/pades/pades-entry.ts';
import type { PadesParameters } from '../../../src/signatures/pades/pades-state.ts';
import { unmetDemand } from '../../../src/signatures/pades/seed-values.ts';
import { signatureFields } from '../../../src/signatures/pades/signed-fields.ts';
import { usualProperties } from '../../../src/signatures/request/signed-properties.ts';
import { XP7Signature } from '../../../src/signatures/request/xp7-signature.ts';
import { opened } from '../../pdf/opened.ts';
import { requestRules } from '../../support/request-rules.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { chainOf } from '../software-signer.ts';
import { signPdf, usualSigner } from './sign-pdf.ts';

/** A PDF with a signature field whose seed value has these entries. */
function withSeed(entries: string): Buffer {
  return smallPdf({
    catalog: '/AcroForm << /Fields [12 0 R] >>',
    page: '/Annots [12 0 R]',
    objects: [
      `<< /Type /Annot /Subtype /Widget /FT /Sig /T (field) /Rect [50 50 250 130] /P 4 0 R /SV << /Type /SV ${entries} >> >>`,
      '[/ETSI.RFC3161 14 0 R]',
      '/ETSI.CAdES.detached',
    ],
  });
}

function sign(pdf: Buffer, parameters: object, more: object = {}): Buffer {
  return signPdf(pdf, { ...more, XP7Providers: { PXP7Parameters: { visibleSignature: { signatureField: 'field' }, ...parameters } } });
}

describe('the seed value of a field', () => {
  it.each([
    ['/Ff 2 /SubFilter [/ETSI.CAdES.detached]', {}, {}, { signatureFormat: 'BASIC' }, {}],
    ['/Ff 64 /DigestMethod [(SHA384) (SHA512)]', {}, { digestAlgorithm: 'SHA_384' }, {}, {}],
    [
      '/Ff 8 /Reasons [(Seen) (Approved)]',
      {},
      { signedProperties: { commitmentText: 'Seen' } },
      {},
      { signedProperties: { commitmentText: 'Read' } },
    ],
    ['/Ff 8 /Reasons [(.)]', {}, {}, {}, { signedProperties: { commitmentText: 'Read' } }],
    ['/MDP << /P 2 >>', { docMDPLevel: 'LEVEL_2' }, {}, {}, {}],
    ['/MDP << /P 0 >>', {}, {}, { docMDPLevel: 'LEVEL_2' }, {}],
    ['/Ff 128 /LockDocument /true', { documentLock: true }, {}, {}, {}],
    ['/Ff 1 /Filter /Adobe.PPKLite', {}, {}, undefined, undefined],
    ['/Ff 1 /Filter /Entrust.PPKEF', undefined, undefined, {}, {}],
    ['/Cert << /Ff 1 >>', undefined, undefined, {}, {}],
    ['/TimeStamp << /URL (http://a) /Ff 1 >>', undefined, undefined, {}, {}],
    ['/Ff 32 /AddRevInfo true', undefined, undefined, {}, {}],
    ['/Ff 2 /SubFilter 13 0 R', {}, {}, { signatureFormat: 'BASIC' }, {}],
    ['/Ff 16 /LegalAttestation [(a)]', undefined, undefined, {}, {}],
    ['/Ff 8', {}, {}, {}, { signedProperties: { commitmentText: 'Read' } }],
    ['/Ff 8 /Reasons [(Seen) (.)]', {}, { signedProperties: { commitmentText: 'Seen' } }, {}, {}],
    ['/MDP << /P 1 >>', { documentLock: true }, {}, {}, {}],
    ['/MDP << /P 3 >>', { docMDPLevel: 'LEVEL_3' }, {}, { documentLock: true }, {}],
    ['/Ff 128 /LockDocument /auto', {}, {}, undefined, undefined],
    ['/Ff 32 /AddRevInfo false', {}, {}, undefined, undefined],
    ['/Cert << /Ff 0 >> /TimeStamp << /URL (http://a) >> /MDP << /P (2) >>', {}, {}, undefined, undefined],
    ['/Cert [1] /TimeStamp 1 /MDP 2', {}, {}, undefined, undefined],
    ['/LockDocument /true /AddRevInfo true /Filter /Entrust.PPKEF /LegalAttestation [(a)]', {}, {}, undefined, undefined],
    ['/Ff (255) /Filter /Entrust.PPKEF', {}, {}, undefined, undefined],
    // Without Ff, nothing is required.
    ['/Ff 0 /SubFilter [/adbe.pkcs7.detached] /DigestMethod [(SHA1)] /Reasons [(Seen)]', {}, {}, undefined, undefined],
  ])('%s is followed', (entries, allowed, allowedMore, refused, refusedMore) => {
    const pdf = withSeed(entries);
    if (allowed !== undefined) expect(() => sign(pdf, allowed, allowedMore)).not.toThrow();
    if (refused !== undefined)
      expect(() => sign(pdf, refused, refusedMore)).toThrow(
        expect.objectContaining({
          code: 'NOT_PERMITTED_BY_DOCUMENT',
          message: expect.stringContaining('the field field demands ') as string,
        }) as Error,
      );
  });

  it('is followed by a signature with a time-stamp, if it demands one', () => {
    const file = opened(withSeed('/TimeStamp << /URL (http://a) /Ff 1 >>'));
    const [field] = signatureFields(file);
    const asked = padesEntry.asked(XP7Signature.parse({ XP7Format: 'PXP_7' }), requestRules);
    const { parameters } = padesEntry.plan(asked, [], { key: { type: 'P-256' }, chain: chainOf(usualSigner()) });
    const demand = (level: 'B' | 'T'): string | undefined =>
      unmetDemand(file, field?.dictionary ?? new PdfDictionary(), { ...parameters, level });
    expect([demand('B'), demand('T')]).toEqual(['a timeStamp', undefined]);
    expect(unmetDemand(file, new PdfDictionary(), parameters)).toBeUndefined();
  });
});

describe('a demand of a seed value', () => {
  const fileWith = (objects: readonly string[]): PdfFile =>
    opened(smallPdf({ catalog: '/AcroForm << /Fields [12 0 R 13 0 R] >>', objects }));
  const dictionary = (file: PdfFile, number: number): PdfDictionary => file.dictionary(new PdfReference(number, 0), 'the object');
  const field = (more: string): string => `<< /FT /Sig /T (f) ${more} >>`;
  const usual = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, certifies: undefined, level: 'B', locksDocument: false, isBasic: false };
  /** From 15 on, there are these objects. */
  const unmet = (seed: string, more: object = {}, objects: readonly string[] = []): string | undefined => {
    const file = fileWith([field('/SV 14 0 R'), 'null', `<< ${seed} >>`, ...objects]);
    const parameters = { ...usual, properties: usualProperties, ...more } as unknown as PadesParameters;
    return unmetDemand(file, dictionary(file, 12), parameters);
  };
  const reason = (commitmentText: string): object => ({ properties: { ...usualProperties, commitmentText } });

  it.each<[string, object, string | undefined]>([
    ['', {}, undefined],
    ['/Ff 1 /Filter /Adobe.PPKLite', {}, undefined],
    ['/Ff 1', {}, 'another filter'],
    ['/Ff 2 /SubFilter [/A /ETSI.CAdES.detached]', {}, undefined],
    ['/Ff 2 /SubFilter [/A /ETSI.CAdES.detached]', { isBasic: true }, 'another signatureFormat'],
    ['/Ff 2 /SubFilter /ETSI.CAdES.detached', {}, 'another signatureFormat'],
    ['/Ff 64 /DigestMethod [(SHA384) (SHA256)]', {}, undefined],
    ['/Ff 64 /DigestMethod [(SHA384)]', {}, 'another digestAlgorithm'],
    ['/Ff 8 /Reasons [(A)]', reason('A'), undefined],
    ['/Ff 8 /Reasons [(A)]', reason('B'), 'one of certain reasons, or none'],
    ['/Ff 8 /Reasons [(A)]', {}, 'one of certain reasons, or none'],
    ['/Ff 8 /Reasons [(.)]', {}, undefined],
    ['/Ff 8', {}, undefined],
    ['/Ff 8', reason('B'), 'one of certain reasons, or none'],
    ['/Ff 16', {}, 'a legal attestation'],
    ['/Ff 32 /AddRevInfo true', {}, 'revocation data in the signature'],
    ['/Ff 32 /AddRevInfo false', {}, undefined],
    ['/Ff 0 /AddRevInfo true', {}, undefined],
    ['/Ff 128 /LockDocument /true', {}, 'documentLock'],
    ['/Ff 128 /LockDocument /true', { locksDocument: true }, undefined],
    ['/Ff 128 /LockDocument /auto', {}, undefined],
    ['/Ff 4 /LockDocument /true', {}, undefined],
    ['/Cert << /Ff 2 >>', {}, 'a certain certificate'],
    ['/Cert << /Ff 0 >>', {}, undefined],
    ['/Cert [2]', {}, undefined],
    ['/TimeStamp << /Ff 1 >>', {}, 'a timeStamp'],
    ['/TimeStamp << /Ff 1 >>', { level: 'T' }, undefined],
    ['/TimeStamp << /Ff 0 >>', {}, undefined],
    ['/MDP << /P 0 >>', {}, undefined],
    ['/MDP << /P 2 >>', {}, 'another docMDPLevel'],
    ['/MDP << /P 2 >>', { certifies: 2 }, undefined],
    ['/MDP << /P 0 >>', { certifies: 2 }, 'another docMDPLevel'],
    ['/MDP << /P 1 >>', { locksDocument: true, certifies: 2 }, undefined],
    ['/MDP << >>', { certifies: 2 }, undefined],
    ['/MDP 2', {}, undefined],
    ['/Ff (1)', {}, undefined],
    ['/Ff 1.5', {}, undefined],
    ['/Ff 32', {}, undefined],
    ['/Ff 2 /SubFilter [/ETSI.CAdES.detached] /Reasons [(A)] /AddRevInfo true /LockDocument /true', {}, undefined],
    ...['LT', 'LTA'].map((level): [string, object, undefined] => ['/TimeStamp << /Ff 1 >>', { level }, undefined]),
  ])('with %s and %j demands %s', (seed, more, expected) => {
    expect(unmet(seed, more)).toBe(expected);
  });

  it.each<[string, readonly string[], string | undefined]>([
    ['/Ff 15 0 R', ['1'], 'another filter'],
    ['/Ff 1 /Filter 15 0 R', ['/Adobe.PPKLite'], undefined],
    ['/Ff 32 /AddRevInfo 15 0 R', ['true'], 'revocation data in the signature'],
    ['/Ff 128 /LockDocument 15 0 R', ['/true'], 'documentLock'],
    ['/Cert 15 0 R', ['<< /Ff 16 0 R >>', '1'], 'a certain certificate'],
    ['/MDP 15 0 R', ['<< /P 16 0 R >>', '2'], 'another docMDPLevel'],
  ])('is found where objects of their own have it: %s with %j', (seed, objects, expected) => {
    expect(unmet(seed, {}, objects)).toBe(expected);
  });

  it('is none where there is another object', () => {
    const file = fileWith([field('/SV [1]'), 'null']);
    expect(
      unmetDemand(file, dictionary(file, 12), { ...usual, properties: usualProperties } as unknown as PadesParameters),
    ).toBeUndefined();
  });
});
