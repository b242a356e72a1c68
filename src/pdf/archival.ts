import { isArray, isName, PdfDictionary, PdfName, PdfStream, type PdfObject } from './objects.ts';
import type { PdfFile } from './pdf-file.ts';

const metadataMaxBytes = 4 * 1024 * 1024;

/** Part of ISO 19005 that a file claims to follow. */
export interface Archival {
  readonly part: number;
  /** It says what its device colours mean. */
  readonly hasOutputIntent: boolean;
}

/** Reads whether a file is PDF/A (ISO 19005-1, 6.7.11): its metadata say so. */
export function archivalOf(file: PdfFile): Archival | undefined {
  const metadata = file.get(file.catalog, 'Metadata');
  if (!(metadata instanceof PdfStream)) return undefined;
  const text = Buffer.from(file.content(metadata, metadataMaxBytes)).toString('latin1');
  const part = /pdfaid:part\s*(?:=\s*["']|>)\s*(\d)/.exec(text)?.[1];
  if (part === undefined) return undefined;
  const intents = file.get(file.catalog, 'OutputIntents');
  const hasOutputIntent =
    isArray(intents) &&
    intents.some((one) => {
      const intent = file.resolved(one);
      return intent instanceof PdfDictionary && isName(file.get(intent, 'S'), 'GTS_PDFA1') && intent.has('DestOutputProfile');
    });
  return { part: Number(part), hasOutputIntent };
}

/** White point D65 and primaries of sRGB (IEC 61966-2-1). */
const white = [0.9505, 1, 1.089];
const primaries = [0.4124, 0.2126, 0.0193, 0.3576, 0.7152, 0.1192, 0.1805, 0.0722, 0.9505];

/**
 * Returns what device colours mean for one content (ISO 32000-2, 8.6.5.6): sRGB. With it, the
 * colours suit PDF/A, whatever its output intent is.
 */
export function calibratedColours(): PdfDictionary {
  const space = (name: string, entries: Readonly<Record<string, PdfObject>>): PdfObject => [
    new PdfName(name),
    PdfDictionary.of({ WhitePoint: white, ...entries }),
  ];
  return PdfDictionary.of({
    DefaultRGB: space('CalRGB', { Gamma: [2.2, 2.2, 2.2], Matrix: primaries }),
    DefaultGray: space('CalGray', { Gamma: 2.2 }),
  });
}
