import { describe, expect, it } from 'vitest';
import { PdfDictionary } from '../../../src/pdf/objects.ts';
import { padesEntry } from '../../../src/signatures/pades/pades-entry.ts';
import { unmetDemand } from '../../../src/signatures/pades/seed-values.ts';
import { signatureFields } from '../../../src/signatures/pades/signed-fields.ts';
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
