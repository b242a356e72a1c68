import type { GlyphRun, ShapedLine } from '../typefaces/shaped-line.ts';
import type { Typeface } from '../typefaces/typeface.ts';
import { EmbeddedFont } from './embedded-font.ts';
import { PdfDictionary, PdfName, PdfStream, type PdfObject, type PdfReference } from './objects.ts';
import type { Revision } from './revision.ts';

/** A colour of the screen; each part from 0 to 1. */
export interface Colour {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
}

/** A rectangle by its lower left corner and its size. */
export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A line of text in a drawing. */
export interface DrawnText {
  readonly line: ShapedLine;
  /** Left end of the base line. */
  readonly x: number;
  readonly y: number;
  readonly fontSize: number;
  readonly colour: Colour;
}

/** Content of a form XObject (ISO 32000-2, 8.10) with the resources that it uses. */
export class Drawing {
  readonly #revision: Revision;
  readonly #operators: string[] = [];
  readonly #fonts = new Map<Typeface, { readonly name: string; readonly font: EmbeddedFont }>();
  readonly #images: [string, PdfReference][] = [];

  constructor(revision: Revision) {
    this.#revision = revision;
  }

  text({ line, x, y, fontSize, colour }: DrawnText): void {
    this.#operators.push(`BT\n${colourOperator(colour)}\n1 0 0 1 ${text(x)} ${text(y)} Tm`);
    for (const run of line.runs) this.#run(run, fontSize);
    this.#operators.push('ET');
  }

  rectangle({ x, y, width, height }: Area, colour: Colour): void {
    this.#operators.push(`${colourOperator(colour)}\n${text(x)} ${text(y)} ${text(width)} ${text(height)} re f`);
  }

  image(image: PdfReference, { x, y, width, height }: Area): void {
    const name = `Im${this.#images.length + 1}`;
    this.#images.push([name, image]);
    this.#operators.push(`q ${text(width)} 0 0 ${text(height)} ${text(x)} ${text(y)} cm /${name} Do Q`);
  }

  /**
   * Returns the form XObject. `entries`: of its dictionary, with BBox. `colourSpaces`: of its
   * resources.
   */
  form(entries: Readonly<Record<string, PdfObject>>, colourSpaces: PdfDictionary | undefined): PdfStream {
    for (const { font } of this.#fonts.values()) font.write();
    const fonts = Array.from(this.#fonts.values(), ({ name, font }): [string, PdfObject] => [name, font.reference]);
    const resources = PdfDictionary.of({
      Font: fonts.length === 0 ? undefined : new PdfDictionary(fonts),
      XObject: this.#images.length === 0 ? undefined : new PdfDictionary(this.#images),
      ColorSpace: colourSpaces,
    });
    return new PdfStream(
      PdfDictionary.of({ Type: new PdfName('XObject'), Subtype: new PdfName('Form'), ...entries, Resources: resources }),
      Buffer.from(`${this.#operators.join('\n')}\n`, 'latin1'),
    );
  }

  /**
   * Shows glyphs where the last ones ended. What differs from the widths of the font is in the
   * array of TJ (9.4.3).
   */
  #run({ typeface, glyphs }: GlyphRun, fontSize: number): void {
    const { name, font } = this.#font(typeface);
    this.#operators.push(`/${name} ${text(fontSize)} Tf`);
    let array = '';
    let codes = '';
    let rise = 0;
    const show = (): void => {
      if (codes !== '') array += `<${codes}>`;
      if (array !== '') this.#operators.push(`[${array}] TJ`);
      array = '';
      codes = '';
    };
    const move = (thousandths: number): void => {
      if (Math.abs(thousandths) < 0.5) return;
      array += `${codes === '' ? '' : `<${codes}>`} ${text(-thousandths)} `;
      codes = '';
    };
    for (const { glyph, advance, offsetX, offsetY } of glyphs) {
      if (offsetY !== rise) {
        show();
        this.#operators.push(`${text((offsetY * fontSize) / 1000)} Ts`);
        rise = offsetY;
      }
      move(offsetX);
      codes += font.code(glyph);
      move(advance - font.width(glyph) - offsetX);
    }
    show();
    if (rise !== 0) this.#operators.push('0 Ts');
  }

  #font(typeface: Typeface): { readonly name: string; readonly font: EmbeddedFont } {
    const known = this.#fonts.get(typeface);
    if (known !== undefined) return known;
    const made = { name: `F${this.#fonts.size + 1}`, font: new EmbeddedFont(this.#revision, typeface) };
    this.#fonts.set(typeface, made);
    return made;
  }
}

function colourOperator({ red, green, blue }: Colour): string {
  return `${text(red)} ${text(green)} ${text(blue)} rg`;
}

/** Numbers have no exponents in PDF (7.3.3). */
function text(value: number): string {
  return String(Number(value.toFixed(3)));
}
