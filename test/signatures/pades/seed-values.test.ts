import { describe, expect, it } from 'vitest';
import { smallPdf } from '../../support/small-pdf.ts';
import { signPdf } from './sign-pdf.ts';

/** A PDF with a signature field whose seed value has these entries. */
function withSeed(entries: string): Buffer {
  return smallPdf({
    catalog: '/AcroForm << /Fields [12 0 R] >>',
    page: '/Annots [12 0 R]',
    objects: [`<< /Type /Annot /Subtype /Widget /FT /Sig /T (field) /Rect [50 50 250 130] /P 4 0 R /SV << /Type /SV ${entries} >> >>`],
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
});
