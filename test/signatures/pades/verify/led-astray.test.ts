import { describe, expect, it } from 'vitest';
import { signPdfWith } from '../sign-pdf.ts';
import { changing, objectNumbers, reference, refusalOf, refusalOfRevision, revised } from './revised-pdf.ts';
import { numbers, richPdf } from './rich-pdf.ts';
import { carriers, type Carrier } from './search/carriers.ts';
import { forbidden, hasPlaceFor, withForbidden } from './search/forbidden-changes.ts';
import { partsOf } from './search/parts.ts';

const level2 = signPdfWith(richPdf(), { docMDPLevel: 'LEVEL_2' });
const level3 = signPdfWith(richPdf(), { docMDPLevel: 'LEVEL_3' });
const approved = signPdfWith(richPdf(), {});
/** Of all three: the same objects are the same parts. */
const parts = partsOf(level2);
const changes = Object.entries(forbidden).filter(([, change]) => hasPlaceFor(level2, change, parts));
const levelFor = ({ shows }: Carrier): Buffer => (shows === 'COMMENTS' ? level3 : level2);

describe('a place that may change', () => {
  it('has what belongs there, in every kind of revision', async () => {
    const refused: string[] = [];
    for (const carrier of carriers) {
      const finding = refusalOfRevision(await carrier.make(levelFor(carrier), parts, undefined));
      if (finding !== undefined) refused.push(`${carrier.name}: ${finding}`);
    }
    expect(refused).toEqual([]);
  });

  it.each(changes)('is not there for a change of %s', (_, change) => {
    expect([approved, level2, level3].map((pdf) => refusalOfRevision(withForbidden(pdf, parts, change, false)) === undefined)).toEqual([
      false,
      false,
      false,
    ]);
  });

  // Attacks that were found: a reference to the catalog, the page tree and a page, beside the change of a page.
  it.each([
    ['validation data: Certs/*', 'a page', numbers.catalog],
    ['validation data: X/*', 'a page', numbers.page],
    ['validation data: X/*', 'a page more', numbers.pages],
    ['validation data: VRI/digest/Cert/*', 'a page', numbers.catalog],
    ['catalog: DSS', 'a page', numbers.page],
    ['catalog: Extensions/ADBE/X', 'a page', numbers.catalog],
    ['a field that is filled in: AP/D/X', 'layers', numbers.catalog],
    ['a field that is filled in: AP/D/X', 'a page', numbers.page],
    ['a comment: AP/D/X', 'layers', numbers.catalog],
    ['a new comment: AP/D/X', 'a page', numbers.page],
    ['properties: Info of the trailer', 'a page', numbers.page],
    ['structure: Nums/*', 'a page', numbers.page],
    ['structure: Nums/*', 'an element of the structure', numbers.paragraph],
  ])('does not lead to a change that is not allowed: %s, %s by object %i', async (place, change, number) => {
    const carrier = carriers.find(({ name }) => name === place);
    const apply = forbidden[change];
    if (carrier === undefined || apply === undefined) throw new Error('no such place or change');
    for (const pdf of carrier.shows === 'COMMENTS' ? [level3] : [approved, level2, level3])
      for (const touched of [false, true])
        expect(refusalOf(await carrier.make(withForbidden(pdf, parts, apply, touched), parts, reference(number)))).toBe(
          'EXISTING_SIGNATURE_INVALID',
        );
  });

  it.each([
    ['validation data: Certs/*', numbers.page],
    ['validation data: VRI/no digest', numbers.vri],
    ['validation data: VRI/digest', numbers.font],
    ['validation data: X', numbers.font],
    ['catalog: Extensions', numbers.layerState],
    ['catalog: Extensions/ADBE/X', numbers.font],
    ['a field that is filled in: AP/X', numbers.textForm],
    ['a field that is filled in: AP/N', numbers.contents],
    ['a new signature: Kids of the field', numbers.crls],
    ['a new signature: Kids of the field', numbers.page],
    ['a signature in a field of the form: Lock of the field', numbers.page],
    ['structure: K', numbers.page],
    ['catalog: Perms/X', numbers.font],
  ])('does not have what belongs elsewhere, though nothing else changed: %s, object %i', async (place, number) => {
    const carrier = carriers.find(({ name }) => name === place);
    expect(refusalOfRevision((await carrier?.make(level2, parts, reference(number))) ?? level2)).toBeDefined();
  });

  it.each([
    'a new signature: Prop_Build of the signature',
    'a new signature: MK of the field',
    'a field that is filled in: AP/N, Group of the form',
    'a field that is filled in: AP/N, a resource in XObject',
    'validation data: OCSPs/*/X of a stream',
    'catalog: Metadata/X',
    'properties: X/*',
    'a new comment: Popup',
  ])('does not lead to an object that changed, though nothing referred to it before: %s', async (place) => {
    const carrier = carriers.find(({ name }) => name === place);
    if (carrier === undefined) throw new Error('no such place');
    const pdf = levelFor(carrier);
    const changed = revised(pdf, (revision) => changing(revision, reference(numbers.unused), { Unused: false }));
    expect([refusalOfRevision(changed), refusalOfRevision(await carrier.make(pdf, parts, reference(numbers.unused)))]).toEqual([
      undefined,
      undefined,
    ]);
    expect(refusalOfRevision(await carrier.make(changed, parts, reference(numbers.unused)))).toContain(`object ${numbers.unused}`);
  });

  it('is not moved to an object that was something else before', () => {
    const moved = revised(level2, (revision) => {
      revision.set(reference(numbers.unused), revision.resolved(reference(numbers.form)));
      changing(revision, reference(numbers.catalog), { AcroForm: reference(numbers.unused) });
    });
    expect(refusalOfRevision(moved)).toContain(`object ${numbers.unused}, which was something else before (AcroForm)`);
  });

  it('does not lead to a change that is not allowed, whatever it refers to: a sample of all', async () => {
    const every = 311;
    const accepted: string[] = [];
    let index = 0;
    for (const carrier of carriers) {
      const pdf = levelFor(carrier);
      for (const number of objectNumbers(pdf))
        for (const [change, apply] of changes) {
          index += 1;
          if (index % every !== 0) continue;
          const made = await carrier.make(withForbidden(pdf, parts, apply, index % 2 === 0), parts, reference(number));
          if (refusalOfRevision(made) === undefined) accepted.push(`${carrier.name}, object ${number}, ${change}`);
        }
    }
    expect(accepted).toEqual([]);
    expect(index).toBeGreaterThan(100_000);
  });
});
