import { pdfOf } from '../../../../support/small-pdf.ts';
import { streamText } from '../revised-pdf.ts';

const form = (size: string, content = 'q Q'): string => streamText(content, `/Type /XObject /Subtype /Form /BBox [0 0 ${size}]`);
/** A stream whose length is another object. */
const withLength = (content: string, length: number): string => `<< /Length ${length} 0 R >>\nstream\n${content}\nendstream`;
const shown = 'BT /F1 18 Tf 40 350 Td (PAY 100) Tj ET';

/**
 * A PDF in which much is an object of its own: lists of kids, of contents, of fields and of
 * annotations, lengths of streams. Its page tree has three levels that hand resources, sizes and
 * rotation down; its form has fields in fields, several widgets for one, all types, and XFA; it has
 * a tree of destinations, embedded files, an outline, layers, replies to comments, a structure with
 * a tree of parents.
 */
export function deepPdf(): Buffer {
  const annotation = '/Type /Annot /P 6 0 R /F 4';
  const bodies = new Map<number, string>([
    [
      1,
      '<< /Type /Catalog /Pages 2 0 R /AcroForm 20 0 R /Names 60 0 R /Outlines 64 0 R /OCProperties 50 0 R /StructTreeRoot 40 0 R ' +
        '/MarkInfo << /Marked true >> /PageLabels << /Nums [0 << /S /D >>] >> /ViewerPreferences << /DisplayDocTitle true >> ' +
        '/OpenAction [6 0 R /Fit] /Metadata 68 0 R /Lang (en) /AF [66 0 R] >>',
    ],
    [2, '<< /Type /Pages /Kids 3 0 R /Count 3 /Resources 13 0 R >>'],
    [3, '[4 0 R 5 0 R]'],
    [4, '<< /Type /Pages /Parent 2 0 R /Kids [6 0 R 7 0 R] /Count 2 /MediaBox [0 0 300 400] >>'],
    [5, '<< /Type /Pages /Parent 2 0 R /Kids [8 0 R] /Count 1 /MediaBox 14 0 R /Rotate 90 >>'],
    [6, '<< /Type /Page /Parent 4 0 R /Contents 9 0 R /Annots 10 0 R /StructParents 0 /Tabs /S >>'],
    [7, '<< /Type /Page /Parent 4 0 R /Contents [11 0 R] /CropBox [10 10 290 390] /Annots [36 0 R] >>'],
    [8, '<< /Type /Page /Parent 5 0 R /Contents 11 0 R >>'],
    [9, '[11 0 R 12 0 R]'],
    [10, '[22 0 R 24 0 R 25 0 R 27 0 R 28 0 R 29 0 R 30 0 R 31 0 R 32 0 R 33 0 R]'],
    [11, withLength(shown, 15)],
    [12, streamText('/P << /MCID 0 >> BDC BT /F1 9 Tf 40 300 Td (Clause) Tj ET EMC /X1 Do /OC /L BDC 0 0 9 9 re f EMC')],
    [13, '<< /Font 16 0 R /XObject << /X1 18 0 R >> /Properties << /L 53 0 R >> >>'],
    [14, '[0 0 300 400]'],
    [15, String(shown.length)],
    [16, '<< /F1 17 0 R >>'],
    [17, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'],
    [18, form('300 400', '0.9 g 200 200 50 50 re f')],
    [
      20,
      '<< /Fields 21 0 R /DA (/F1 0 Tf 0 g) /DR << /Font 16 0 R >> /CO [22 0 R] /XFA [(template) 70 0 R (datasets) 71 0 R] /SigFlags 0 >>',
    ],
    [21, '[23 0 R 26 0 R 28 0 R 29 0 R 30 0 R]'],
    [
      22,
      `<< ${annotation} /Subtype /Widget /Parent 23 0 R /T (amount) /V (100) /DA (/F1 9 Tf 0 g) /Rect [40 200 140 220] /AP << /N 37 0 R >> >>`,
    ],
    [23, '<< /T (person) /FT /Tx /Kids [22 0 R 34 0 R] >>'],
    [24, `<< ${annotation} /Subtype /Widget /Parent 26 0 R /AS /a /Rect [40 160 60 180] /AP << /N << /a 38 0 R /Off 39 0 R >> >> >>`],
    [25, `<< ${annotation} /Subtype /Widget /Parent 26 0 R /AS /Off /Rect [70 160 90 180] /AP << /N << /b 38 0 R /Off 39 0 R >> >> >>`],
    [26, '<< /T (kind) /FT /Btn /Ff 49152 /V /a /Kids [24 0 R 25 0 R] >>'],
    [27, `<< ${annotation} /Subtype /Widget /Parent 34 0 R /Rect [160 200 260 220] /AP << /N 35 0 R >> >>`],
    [28, `<< ${annotation} /Subtype /Widget /FT /Ch /T (pick) /V (a) /Opt [(a) (b)] /DA (/F1 9 Tf 0 g) /Rect [40 130 140 150] >>`],
    [
      29,
      `<< ${annotation} /Subtype /Widget /FT /Btn /Ff 65536 /T (push) /Rect [40 100 140 120] /A << /S /JavaScript /JS (app.beep\\(\\)) >> >>`,
    ],
    [30, `<< ${annotation} /Subtype /Widget /FT /Sig /T (place) /Rect [160 100 260 140] >>`],
    [31, `<< ${annotation} /Subtype /FreeText /Contents (Seen) /DA (/F1 9 Tf) /Rect [160 250 260 280] /AP << /N 35 0 R >> >>`],
    [32, `<< ${annotation} /Subtype /Text /Contents (Reply) /IRT 31 0 R /Rect [270 250 290 270] /Popup 33 0 R >>`],
    [33, `<< ${annotation} /Subtype /Popup /Parent 32 0 R /Rect [200 300 280 340] >>`],
    [34, '<< /Parent 23 0 R /T (name) /V (Zoe) /DA (/F1 9 Tf 0 g) /Kids [27 0 R 36 0 R] >>'],
    [35, form('100 20', '/Tx BMC EMC')],
    [36, '<< /Type /Annot /P 7 0 R /F 4 /Subtype /Widget /Parent 34 0 R /Rect [160 200 260 220] /AP << /N 35 0 R >> >>'],
    [37, form('100 20', '/Tx BMC EMC')],
    [38, form('20 20', '0 g 5 5 10 10 re f')],
    [39, form('20 20')],
    [40, '<< /Type /StructTreeRoot /K [41 0 R] /ParentTree 44 0 R /ParentTreeNextKey 2 /RoleMap << /Clause /P >> >>'],
    [41, '<< /Type /StructElem /S /Document /P 40 0 R /K [42 0 R 43 0 R] >>'],
    [42, '<< /Type /StructElem /S /Clause /P 41 0 R /Pg 6 0 R /K [0] >>'],
    [43, '<< /Type /StructElem /S /Form /P 41 0 R /K << /Type /OBJR /Obj 22 0 R /Pg 6 0 R >> >>'],
    [44, '<< /Kids [45 0 R] >>'],
    [45, '<< /Limits [0 1] /Nums [0 46 0 R 1 43 0 R] >>'],
    [46, '[42 0 R]'],
    [50, '<< /OCGs [53 0 R] /D << /Order [53 0 R] /OFF [53 0 R] >> >>'],
    [53, '<< /Type /OCG /Name (Draft) >>'],
    [60, '<< /Dests 61 0 R /EmbeddedFiles << /Names [(terms.txt) 66 0 R] >> >>'],
    [61, '<< /Kids [62 0 R] >>'],
    [62, '<< /Limits [(a) (b)] /Names [(a) 63 0 R (b) << /D [8 0 R /Fit] >>] >>'],
    [63, '[6 0 R /XYZ 0 400 0]'],
    [64, '<< /Type /Outlines /First 65 0 R /Last 65 0 R /Count 1 >>'],
    [65, '<< /Title (Clause) /Parent 64 0 R /Dest (a) >>'],
    [66, '<< /Type /Filespec /F (terms.txt) /UF (terms.txt) /EF << /F 67 0 R >> /AFRelationship /Data >>'],
    [67, streamText('pay 100', '/Type /EmbeddedFile')],
    [
      68,
      streamText(
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>',
        '/Type /Metadata /Subtype /XML',
      ),
    ],
    [70, streamText('<template/>')],
    [71, streamText('<xfa:datasets xmlns:xfa="http://www.xfa.org/schema/xfa-data/1.0/"/>')],
    [72, '<< /Title (A contract) /Producer (hand) >>'],
  ]);
  return pdfOf(bodies, '/Info 72 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]');
}
