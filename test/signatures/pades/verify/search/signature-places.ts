import type { PdfObject } from '../../../../../src/pdf/objects.ts';
import { stamped } from '../revised-pdf.ts';
import { dictionary, having } from './appearance-places.ts';
import type { Carrier } from './carriers.ts';
import { needed } from './parts.ts';

type Entries = Readonly<Record<string, PdfObject>>;

/** Entries of the field of a new document time-stamp, or of its signature dictionary. */
const signed: readonly (readonly [string, (extra: PdfObject | undefined) => { field?: Entries; entries?: Entries }])[] = [
  ...['Lock', 'SV', 'MK', 'BS', 'P', 'AP', 'Parent', 'Kids', 'Contents', 'C'].map(
    (key) => [`${key} of the field`, (extra: PdfObject | undefined) => ({ field: having(key, extra) })] as const,
  ),
  ['AP/D/X of the field', (extra) => ({ field: extra === undefined ? {} : { AP: dictionary({ D: dictionary({ X: extra }) }) } })],
  ...['Prop_Build', 'Cert', 'Location', 'X'].map(
    (key) => [`${key} of the signature`, (extra: PdfObject | undefined) => ({ entries: having(key, extra) })] as const,
  ),
  ['Reference/*/Data of the signature', (extra) => ({ entries: { Reference: [dictionary({ ...having('Data', extra) })] } })],
];

/** Document time-stamps in a new field, and in one of the form. */
export const signings: readonly Carrier[] = signed.flatMap(([place, make]): Carrier[] => [
  {
    ...{ name: `a new signature: ${place}`, shows: 'NOTHING', isThere: () => true },
    make: (pdf, _, extra) => stamped(pdf, make(extra)),
  },
  {
    name: `a signature in a field of the form: ${place}`,
    shows: 'PLACE',
    isThere: ({ place: field }) => field !== undefined && field.field.holder === field.widget.holder,
    make: (pdf, parts, extra) => stamped(pdf, { existing: needed(parts.place).field.holder.number, ...make(extra) }),
  },
]);
