import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { create, Font } from 'fontkit';

/** Kinds of letters that the product has. The metrics are those of Helvetica, Times and Courier. */
export type Family = 'SANS' | 'SERIF' | 'MONO';

export interface Weight {
  readonly isBold: boolean;
  readonly isItalic: boolean;
}

/** A font file that ships with the product. */
export interface Typeface {
  /** Name by which a document knows it. */
  readonly name: string;
  readonly font: Font;
}

const require = createRequire(import.meta.url);
const read = new Map<string, Typeface>();

/**
 * Returns the typefaces of a text, in the order in which a letter is looked for. The first one is
 * of the family; the last ones have the letters that it lacks.
 */
export function typefaces(family: Family, weight: Weight): readonly Typeface[] {
  const key = `${family} ${weight.isBold} ${weight.isItalic}`;
  const made = lists.get(key) ?? [typeface(familyFile(family, weight)), ...fallbacks(weight)];
  lists.set(key, made);
  return made;
}

const lists = new Map<string, readonly Typeface[]>();

/** Returns the typefaces that have symbols and the scripts that few others have. */
export function fallbacks({ isBold, isItalic }: Weight): readonly Typeface[] {
  const upright = isBold ? 'DejaVuSans-Bold' : 'DejaVuSans';
  const names = isItalic ? [isBold ? 'DejaVuSans-BoldOblique' : 'DejaVuSans-Oblique', upright] : [upright];
  return [...names, ...(isBold ? ['DejaVuSans'] : [])].map((name) => typeface(`dejavu-fonts-ttf/ttf/${name}.ttf`));
}

const families = { SANS: ['arimo', 'Arimo'], SERIF: ['tinos', 'Tinos'], MONO: ['cousine', 'Cousine'] } as const;

function familyFile(family: Family, { isBold, isItalic }: Weight): string {
  const [folder, name] = families[family];
  const style = `${isBold ? '700Bold' : '400Regular'}${isItalic ? '_Italic' : ''}`;
  return `@expo-google-fonts/${folder}/${style}/${name}_${style}.ttf`;
}

/** Reads a font file once for each thread. */
function typeface(file: string): Typeface {
  const known = read.get(file);
  if (known !== undefined) return known;
  // Loaded with the first font: most instances draw nothing, and it takes 60 ms.
  const fontkit = createRequire(import.meta.url)('fontkit') as { readonly create: typeof create };
  const font = fontkit.create(readFileSync(require.resolve(file)));
  if (!('glyphForCodePoint' in font)) throw new Error(`${file} has several fonts`);
  const made: Typeface = { name: font.postscriptName, font };
  read.set(file, made);
  return made;
}
