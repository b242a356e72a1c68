import { bytesInMemory } from '../../../../../src/asn1/byte-source.ts';
import { PdfReference, type PdfObject } from '../../../../../src/pdf/objects.ts';
import { PdfFile } from '../../../../../src/pdf/pdf-file.ts';
import { referencesIn } from '../../../../../src/signatures/pades/verify/same-objects.ts';
import type { Judgement } from './pyhanko.ts';
import type { Trial } from './trials.ts';

/** Why this service accepts what pyHanko does not. Each revision shows the same pages, all the same. */
interface Explanation {
  readonly rule: string;
  readonly holds: (trial: Trial, why: string) => boolean;
}

/** pyHanko found objects that changed, and no place from which a reader comes to them. */
const unexplainedOnly = /^There are unexplained xrefs in revision \d+: (Reference\(idnum=\d+, generation=\d+\)(, )?)+\.$/;
/** Paths at which pyHanko found an object that changed, without knowing it there. */
const usedAt = (why: string): readonly string[] => Array.from(why.matchAll(/PathInRevision\('([^']*)'\)/g), ([, path = '']) => path);
const isUsedOnlyAt = (why: string, paths: RegExp): boolean =>
  why.startsWith('There are unexplained xrefs') && usedAt(why).length > 0 && usedAt(why).every((path) => paths.test(path));
/** A field, or a widget of it, as the form, its order of calculations, a page and a structure name it. */
const fieldPaths =
  /^\.Root\.(AcroForm\.(Fields\[\d+\](\.Kids\[\d+\])*|CO\[\d+\])|Pages(\.Kids\[\d+\])+\.Annots\[\d+\]|StructTreeRoot\..*\.Obj)$/;
const filling = /^(a field that is filled in|a button|a form that is written again): /;
const comment = /Annot (Text|FreeText|Line|Square|Circle|Polygon|PolyLine|Highlight|Underline|Squiggly|StrikeOut|Caret|Stamp|Ink|Popup)$/;

const explanations: readonly Explanation[] = [
  {
    // pyHanko's own words: its policy "was not designed to support DocMDP level 3".
    rule: 'comments are allowed on level 3 (ISO 32000-2, table 257), and pyHanko knows none',
    holds: ({ place, subject }) =>
      subject.level === 3 && (/^a (new )?comment: /.test(place) || (place.startsWith('entry: ') && comment.test(place))),
  },
  {
    rule: 'objects to which nothing in the file refers mean nothing (7.3.10), and pyHanko found no reference to them either',
    holds: ({ pdf }, why) => unexplainedOnly.test(why) && !numbersIn(why).some((number) => reachable(pdf).has(number)),
  },
  {
    rule: 'the tree of parents may have more numbers at its end, for elements that are there (14.7.5.4), and pyHanko leaves the structure as it is',
    holds: ({ place }, why) =>
      /^structure: (Nums|Kids)\//.test(place) && isUsedOnlyAt(why, /^\.Root\.StructTreeRoot\.ParentTree(\.Kids)?$/),
  },
  {
    rule: 'a field that is filled in is one wherever it is named as such: widgets in fields, calculations (12.7.3, 12.7.4), which pyHanko does not know',
    holds: ({ place }, why) => filling.test(place) && isUsedOnlyAt(why, fieldPaths),
  },
  {
    rule: 'validation data show nothing (12.8.4.3): those that are not needed may be left out, or named for another signature',
    holds: ({ place }) => /^(catalog: DSS|validation data: VRI\/digest)$/.test(place),
  },
  {
    rule: 'properties show nothing on the pages (14.3.3): they may be an object that did not change',
    holds: ({ place }) => place === 'properties: Info of the trailer',
  },
  {
    rule: 'metadata show nothing, whatever their bytes are (14.3.2), and pyHanko wants XML',
    holds: ({ place }, why) => place === 'entry: Length of Metadata XML' && why.includes('/Metadata XML syntax could not be validated'),
  },
  {
    rule: 'a formatted text that did not change is one for another field, too (12.7.4.3)',
    holds: ({ place }) => place === 'a field that is filled in: RV',
  },
  {
    rule: 'a document time-stamp may be put in a field of the form on level 1 (12.8.2.2.2), which pyHanko takes for filling in',
    holds: ({ place, subject }, why) =>
      subject.level === 1 && place.startsWith('a signature in a field of the form: ') && why === 'FORM_FILLING',
  },
  {
    rule: 'annotations may stand in the list of a page (12.5.2, table 166), and pyHanko reads only references to them',
    holds: (_, why) => why === 'Array contains direct objects',
  },
  {
    rule: 'pyHanko cannot read an appearance that is no reference',
    holds: ({ place }, why) => /: AP/.test(place) && why.startsWith('IndirectObjectExpected'),
  },
];

/** Returns the rule by which a revision is accepted here that pyHanko does not accept; undefined if there is none. */
export function explanationOf(trial: Trial, { why }: Judgement): string | undefined {
  return explanations.find(({ holds }) => holds(trial, why))?.rule;
}

function numbersIn(why: string): readonly number[] {
  return Array.from(why.matchAll(/idnum=(\d+)/g), ([, number]) => Number(number));
}

/** Numbers of the objects to which the trailer leads. */
function reachable(pdf: Buffer): ReadonlySet<number> {
  const file = new PdfFile(bytesInMemory(pdf));
  const found = new Set<number>();
  const waiting: PdfObject[] = ['Root', 'Info', 'Encrypt'].map((key) => file.trailer.get(key));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
    for (const { target } of referencesIn(next)) {
      if (found.has(target.number)) continue;
      found.add(target.number);
      const object = file.object(new PdfReference(target.number, target.generation));
      if (object !== null) waiting.push(object);
    }
  return found;
}
