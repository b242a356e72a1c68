import { pdfOf } from '../../../support/small-pdf.ts';
import { streamText } from './revised-pdf.ts';

const form = (size: string, content = 'q Q'): string => streamText(content, `/Type /XObject /Subtype /Form /BBox [0 0 ${size}]`);
const metadata = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>';

/** Numbers of the objects of `richPdf` by what they are. */
export const numbers = {
  ...{ catalog: 1, pages: 2, font: 3, page: 4, contents: 5, otherPage: 6, resources: 8, group: 9, picture: 10 },
  ...{
    form: 20,
    text: 21,
    place: 22,
    link: 24,
    comment: 25,
    textForm: 27,
    button: 29,
    otherForm: 36,
    unused: 37,
    layers: 30,
    layer: 31,
    layerState: 34,
  },
  ...{ structure: 40, element: 41, parents: 42, paragraph: 43, store: 50, crls: 52, vri: 54, names: 62, info: 63 },
} as const;

/** Key of an entry in VRI. */
export const digestKey = 'AB'.repeat(20);

/** A tagged PDF with a form, layers, comments, validation data, extensions and metadata. Its objects are those of `numbers`, and what they need; nothing refers to the unused one. */
export function richPdf(): Buffer {
  const annotation = '/Type /Annot /P 4 0 R /F 4';
  const bodies = new Map<number, string>([
    [
      1,
      '<< /Type /Catalog /Version /1.7 /Pages 2 0 R /AcroForm 20 0 R /OCProperties 30 0 R /StructTreeRoot 40 0 R /MarkInfo << /Marked true >> ' +
        '/DSS 50 0 R /Extensions << /ADBE << /BaseVersion /1.7 /ExtensionLevel 8 >> >> /Metadata 61 0 R /Names 62 0 R /Lang (en) >>',
    ],
    [2, '<< /Type /Pages /Kids [4 0 R 6 0 R] /Count 2 /MediaBox [0 0 600 800] /Resources 8 0 R >>'],
    [3, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'],
    [
      4,
      '<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Annots [21 0 R 22 0 R 23 0 R 24 0 R 25 0 R 29 0 R] /StructParents 0 /Tabs /S /Group 9 0 R >>',
    ],
    [5, streamText('/P << /MCID 0 >> BDC BT /F1 24 Tf 60 700 Td (PAY 100) Tj ET EMC /X1 Do /OC /L BDC 0 0 9 9 re f EMC')],
    [6, '<< /Type /Page /Parent 2 0 R /Contents [7 0 R] >>'],
    [7, streamText('BT /F1 24 Tf 60 700 Td (Page 2) Tj ET')],
    [8, '<< /Font << /F1 3 0 R >> /XObject << /X1 10 0 R >> /Properties << /L 31 0 R >> >>'],
    [9, '<< /S /Transparency >>'],
    [10, form('600 800')],
    [20, '<< /Fields [21 0 R 22 0 R 23 0 R 29 0 R] /DA (/F1 0 Tf 0 g) /DR << /Font << /F1 3 0 R >> >> >>'],
    [21, `<< ${annotation} /Subtype /Widget /FT /Tx /T (Amount) /V (100) /Rect [50 50 200 80] /AP << /N 27 0 R >> >>`],
    [22, `<< ${annotation} /Subtype /Widget /FT /Sig /T (Place) /Rect [300 50 500 120] >>`],
    [23, `<< ${annotation} /Subtype /Widget /FT /Tx /T (Other) /V (1) /Rect [50 150 200 180] /AP << /N 36 0 R >> >>`],
    [24, `<< ${annotation} /Subtype /Link /Rect [0 0 100 100] /A << /S /URI /URI (https://example.org) >> >>`],
    [25, `<< ${annotation} /Subtype /FreeText /Contents (Seen) /DA (/F1 9 Tf) /Rect [300 300 400 330] /AP << /N 28 0 R >> >>`],
    [27, form('150 30').replace('/Type', '/Resources << /Font << /F1 35 0 R >> >> /Type')],
    [28, form('100 30')],
    [
      29,
      `<< ${annotation} /Subtype /Widget /FT /Btn /T (Yes) /V /Off /AS /Off /Rect [50 90 70 110] /AP << /N << /On 32 0 R /Off 33 0 R >> >> >>`,
    ],
    [30, '<< /OCGs [31 0 R] /D 34 0 R >>'],
    [31, '<< /Type /OCG /Name (Draft) >>'],
    [32, form('20 20')],
    [33, form('20 20')],
    [34, '<< /Order [31 0 R] /OFF [31 0 R] >>'],
    [35, '<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>'],
    [36, form('150 30')],
    [37, '<< /Unused true >>'],
    [40, '<< /Type /StructTreeRoot /K 41 0 R /ParentTree 42 0 R /ParentTreeNextKey 1 >>'],
    [41, '<< /Type /StructElem /S /Document /P 40 0 R /K [43 0 R] >>'],
    [42, '<< /Nums [0 [43 0 R]] >>'],
    [43, '<< /Type /StructElem /S /P /P 41 0 R /Pg 4 0 R /K 0 >>'],
    [50, '<< /Type /DSS /Certs [51 0 R] /CRLs 52 0 R /VRI 54 0 R >>'],
    [51, streamText('certificate')],
    [52, '[53 0 R]'],
    [53, streamText('crl')],
    [54, `<< /${digestKey} 55 0 R >>`],
    [55, '<< /Cert [51 0 R] >>'],
    [61, streamText(metadata, '/Type /Metadata /Subtype /XML')],
    [62, '<< /Dests << /Names [(a) [4 0 R /Fit]] >> >>'],
    [63, '<< /Title (A contract) /Producer (hand) >>'],
  ]);
  return pdfOf(bodies, '/Info 63 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]');
}
