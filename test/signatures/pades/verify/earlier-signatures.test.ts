import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import { PdfDictionary, type PdfReference } from '../../../../src/pdf/objects.ts';
import { checkEarlierSignatures } from '../../../../src/signatures/pades/verify/earlier-signatures.ts';
import { openssl } from '../../../support/openssl.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { keyPem, softwareSigner } from '../../software-signer.ts';
import { signPdf } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import { addToForm, changing, findingOf, reference, revised, signedByHand, stream, type HandMade } from './revised-pdf.ts';

const signer = softwareSigner('Robin Petit', 'rsa');
const cmsOf = (content: Uint8Array, hash = 'sha256'): Uint8Array =>
  openssl(
    ['cms', '-sign', '-binary', '-md', hash, '-in', '{content}', '-signer', '{pem}', '-inkey', '{key}', '-outform', 'DER', '-out', 'out'],
    { content, pem: signer.pem, key: keyPem(signer.privateKey) },
    'out',
  );
const signed = (pdf: Uint8Array, more: Omit<HandMade, 'value'> = {}, hash = 'sha256'): Buffer =>
  signedByHand(pdf, { ...more, value: (covered) => cmsOf(covered, hash) });

/** Two signature fields, objects 12 and 13. */
const twoFields = smallPdf({
  catalog: '/AcroForm 14 0 R',
  page: '/Annots [12 0 R 13 0 R]',
  objects: [
    ...['a', 'b'].map((name) => `<< /Type /Annot /Subtype /Widget /FT /Sig /T (${name}) /Rect [0 0 0 0] /P 4 0 R /F 132 >>`),
    '<< /Fields [12 0 R 13 0 R] >>',
  ],
});

describe('the signatures of a file', () => {
  it('are verified in the order of their revisions, whatever the order of their fields', () => {
    const broken = { value: () => cmsOf(Buffer.from('other')) };
    const both = signedByHand(signedByHand(twoFields, { ...broken, existing: 13 }), { ...broken, existing: 12 });
    expect(findingOf(both)).toContain('the signature "b" of the document does not match');
    const old = signed(signed(twoFields, { existing: 13 }, 'sha1'), { existing: 12 }, 'sha1');
    expect(checkEarlierSignatures(bytesInMemory(old), undefined, '')).toEqual([
      'the signature "b" uses SHA-1',
      'the signature "a" uses SHA-1',
    ]);
  });

  it('are followed by no object that other readers find, also between two of them', () => {
    const hidden = revised(signPdf(smallPdf()), (revision) => revision.add(stream('\n5 0 obj\n<< /Length 0 >>\nendobj\n')));
    expect(findingOf(signed(hidden))).toContain('followed by an object 5 that the cross-reference does not name');
  });

  it('are followed by nothing behind the last revision', () => {
    const later = revised(signed(twoFields, { existing: 13 }), () => undefined);
    expect(findingOf(later)).toBeUndefined();
    expect(findingOf(Buffer.concat([later, Buffer.from(' \n')]))).toBeUndefined();
    expect(findingOf(Buffer.concat([later, Buffer.from('more')]))).toContain('is followed by bytes that belong to no revision');
  });
});

describe('a signature that its own revision does not have', () => {
  const none = 'is not in the revision that it covers';
  /** A signature whose widget no form has yet. */
  function orphan(pdf: Buffer, fields: readonly number[]): { readonly pdf: Buffer; readonly widget: PdfReference } {
    let widget = reference(0);
    const made = signed(pdf, {
      change(revision, added) {
        widget = added;
        changing(revision, reference(14), { Fields: fields.map(reference) });
      },
    });
    return { pdf: made, widget };
  }

  it('does not hold where its field came later', () => {
    const { pdf, widget } = orphan(withForm(), [12, 13]);
    expect(findingOf(revised(pdf, (revision) => addToForm(revision, widget)))).toContain(none);
  });

  it('does not hold where another field had it', () => {
    const first = signed(twoFields, { existing: 13 });
    const moved = revised(first, (revision) => {
      const field = revision.resolved(reference(13));
      const value = field instanceof PdfDictionary ? field.get('V') : null;
      changing(revision, reference(13), { V: null });
      changing(revision, reference(12), { V: value });
    });
    expect(findingOf(moved)).toContain(`the signature "a" of the document ${none}`);
  });

  it('does not hold where its field had another one', () => {
    const { pdf, widget } = orphan(signed(twoFields, { existing: 13 }), [12, 13]);
    const moved = revised(pdf, (revision) => {
      const holder = revision.resolved(widget);
      changing(revision, reference(13), { V: holder instanceof PdfDictionary ? holder.get('V') : null });
    });
    expect(findingOf(moved)).toContain(`the signature "b" of the document ${none}`);
  });

  it('cannot be verified where the form of that revision cannot be read', () => {
    let widget = reference(0);
    const pdf = signed(withForm(), {
      change(revision, added) {
        widget = added;
        revision.set(reference(14), PdfDictionary.of({ Fields: 7 }));
      },
    });
    const later = revised(pdf, (revision) => revision.set(reference(14), PdfDictionary.of({ Fields: [reference(12), widget] })));
    expect(findingOf(later)).toMatch(/the signature "Hand\d+" of the document cannot be verified: /);
  });
});
