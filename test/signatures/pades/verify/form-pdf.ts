import { smallPdf } from '../../../support/small-pdf.ts';

/** Further entries of the objects of `withForm`. */
export interface FormOptions {
  readonly text?: string;
  readonly field?: string;
  readonly form?: string;
  /** Type of the text field, where it is another one. */
  readonly type?: string;
  /** Flags of the annotation of the signature field. */
  readonly flags?: number;
  /** False: the signature field has no Rect of its own. */
  readonly rect?: boolean;
}

/** A PDF with a text field (object 12, on page 4), an unsigned signature field (13), and their form (14). */
export function withForm({ text = '', field = '', form = '', type = 'Tx', flags = 4, rect = true }: FormOptions = {}): Buffer {
  return smallPdf({
    catalog: '/AcroForm 14 0 R',
    page: '/Annots [12 0 R 13 0 R]',
    objects: [
      `<< /Type /Annot /Subtype /Widget /FT /${type} /T (Amount) /V (100) /Rect [50 50 200 80] /P 4 0 R /F 4 /AP << /N 15 0 R >> ${text} >>`,
      `<< /Type /Annot /Subtype /Widget /FT /Sig /T (Place) ${rect ? '/Rect [300 50 500 120]' : ''} /P 4 0 R /F ${flags} ${field} >>`,
      `<< /Fields [12 0 R 13 0 R] ${form} >>`,
      '<< /Type /XObject /Subtype /Form /BBox [0 0 150 30] /Length 3 >>\nstream\nq Q\nendstream',
    ],
  });
}
