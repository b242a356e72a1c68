import { readFileSync } from 'node:fs';
import { bytesInMemory } from '../src/asn1/byte-source.ts';
import { PdfDictionary, PdfName, type PdfObject } from '../src/pdf/objects.ts';
import { pages } from '../src/pdf/pages.ts';
import { PdfFile } from '../src/pdf/pdf-file.ts';
import { Revision } from '../src/pdf/revision.ts';
import { textString } from '../src/pdf/text-string.ts';
import { firstDocument } from '../src/quickstart/first-document.ts';

/** A request of docs/pades.md. */
export interface PadesRequest {
  readonly heading: string;
  /** Value of `XP7Signature`, with its images in base64. */
  readonly xp7: Readonly<Record<string, unknown>>;
  /** File of the picture that the page shows of it, without the ending. */
  readonly picture: string | undefined;
}

const image = (name: string): string => readFileSync(new URL(`images/pades/${name}.png`, import.meta.url)).toString('base64');

/** Returns the requests of the page: its blocks, and the values that its tables show with a picture. */
export function padesRequests(): readonly PadesRequest[] {
  const page = readFileSync(new URL('pades.md', import.meta.url), 'utf8');
  const requests: PadesRequest[] = [];
  let heading = '';
  let option = '';
  for (const [, title, block, picture, header, value, shown] of page.matchAll(parts)) {
    if (title !== undefined) heading = title;
    if (header !== undefined) option = header;
    if (block !== undefined) requests.push({ heading, xp7: parsed(block), picture: undefined });
    const last = requests.at(-1);
    if (picture !== undefined && last !== undefined) requests[requests.length - 1] = { ...last, picture };
    if (shown !== undefined) requests.push({ heading: `${heading}: ${value}`, xp7: variant(option, value ?? ''), picture: shown });
  }
  return requests;
}

const parts =
  /^#+ (.*)$|^```json\n([^]*?)^```$|^!\[.*\]\(images\/pades\/(.*)\.png\)$|^\| `(\w+)` \| +\|$|^\| `(\w+)` \| !\[.*\]\(images\/pades\/(.*)\.png\) \|$/gm;

function parsed(block: string): Readonly<Record<string, unknown>> {
  const text = block.replaceAll('$logo', image('logo')).replaceAll('$hand', image('hand')).replaceAll('$stamp', image('stamp'));
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

function variant(option: string, value: string): Readonly<Record<string, unknown>> {
  const visibleSignature = { width: 200, height: 40, [option]: value };
  return { XP7Format: 'PXP_7', XP7Providers: { PXP7Parameters: { visibleSignature } } };
}

/** Returns the document of a request: a page, or a form where the request names a field. */
export function documentFor({ xp7 }: Pick<PadesRequest, 'xp7'>): Uint8Array {
  return /"(?:signatureField|formField)"/.test(JSON.stringify(xp7)) ? formDocument() : firstDocument();
}

/** A page with an empty signature field `buyer` and a push button `stamp`. */
function formDocument(): Uint8Array {
  const base = firstDocument();
  const file = new PdfFile(bytesInMemory(base), undefined);
  const revision = new Revision(file);
  const [page] = pages(file);
  if (page === undefined) throw new Error('the document has a page');
  const widget = (entries: Readonly<Record<string, PdfObject>>): PdfObject =>
    revision.add(
      PdfDictionary.of({ ...{ Type: new PdfName('Annot'), Subtype: new PdfName('Widget'), F: 4, P: page.reference }, ...entries }),
    );
  const buyer = widget({ FT: new PdfName('Sig'), T: textString('buyer'), Rect: [72, 200, 332, 280] });
  const border = PdfDictionary.of({ BC: [0.6, 0.6, 0.6] });
  const stamp = widget({ FT: new PdfName('Btn'), Ff: 1 << 16, T: textString('stamp'), Rect: [423, 200, 523, 280], MK: border });
  revision.set(page.reference, page.dictionary.with({ Annots: [buyer, stamp] }));
  revision.set(file.catalogReference, file.catalog.with({ AcroForm: PdfDictionary.of({ Fields: [buyer, stamp] }) }));
  return Buffer.concat([base, revision.write().bytes]);
}
