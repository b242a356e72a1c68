import { type PdfObject } from '../../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../../src/pdf/revision.ts';
import { stream } from '../revised-pdf.ts';
import { dictionary, having, listed } from './appearance-places.ts';
import { dictionaryAt, listAt, nameOf as name, spot, type Spot } from './parts.ts';

type Entries = Readonly<Record<string, PdfObject>>;

/** Entries of the store of validation data at a spot. */
type StorePlace = readonly [place: string, make: (revision: Revision, extra: PdfObject | undefined, store: Spot) => Entries];

/** A store with one certificate. */
export function storeOf(revision: Revision): Entries {
  return { Certs: [revision.add(stream('another certificate'))] };
}

const elements = (revision: Revision, store: Spot, key: string): readonly PdfObject[] => listAt(revision, store, key);
const certificates = (revision: Revision, store: Spot): PdfObject[] => [
  ...elements(revision, store, 'Certs'),
  revision.add(stream('another certificate')),
];
/** VRI with what it has. */
const related = (revision: Revision, { holder, keys }: Spot, more: Entries): Entries => ({
  VRI: dictionaryAt(revision, spot(holder, ...keys, 'VRI')).with(more),
});
const digest = 'CD'.repeat(20);

function ofSignature(key: string, isInList: boolean): StorePlace[1] {
  return (revision, extra, store) => {
    const [first] = certificates(revision, store);
    const value = isInList && extra !== undefined ? [extra] : extra;
    return related(revision, store, { [digest]: revision.add(dictionary({ Cert: listed(first), ...having(key, value) })) });
  };
}

/** Places in a store of validation data (ISO 32000-2, 12.8.4.3). */
export const storePlaces: readonly StorePlace[] = [
  ['Certs/*', (revision, extra, store) => ({ Certs: [...certificates(revision, store), ...listed(extra)] })],
  ['Certs/*/*', (revision, extra, store) => ({ Certs: [...certificates(revision, store), ...(extra === undefined ? [] : [[extra]])] })],
  ['Certs', (revision, extra, store) => ({ Certs: extra ?? certificates(revision, store) })],
  ['CRLs/*, an object', (revision, extra, store) => ({ CRLs: revision.add([...elements(revision, store, 'CRLs'), ...listed(extra)]) })],
  ['OCSPs/*', (revision, extra, store) => ({ OCSPs: [...elements(revision, store, 'OCSPs'), ...listed(extra)] })],
  ['OCSPs/*/X of a stream', (revision, extra) => ({ OCSPs: [revision.add(stream('ocsp', having('X', extra)))] })],
  ['VRI', (revision, extra, store) => ({ VRI: extra ?? revision.add(related(revision, store, {})['VRI'] ?? dictionary({})) })],
  ['VRI/digest', (revision, extra, store) => related(revision, store, having(digest, extra))],
  ['VRI/no digest', (revision, extra, store) => related(revision, store, having('X', extra))],
  ...['Cert', 'CRL', 'OCSP'].map((key): StorePlace => [`VRI/digest/${key}/*`, ofSignature(key, true)]),
  ...['Cert', 'TS', 'TU', 'Type', 'X'].map((key): StorePlace => [`VRI/digest/${key}`, ofSignature(key, false)]),
  ['X', (_, extra) => having('X', extra)],
  ['X/*', (_, extra) => (extra === undefined ? {} : { X: [extra] })],
  ['Type', (_, extra) => ({ Type: extra ?? name('DSS') })],
];
