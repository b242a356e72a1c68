import { quoted, XmlFault } from './xml-fault.ts';

/** An encoding of XML documents that this service reads. */
export type XmlEncoding = 'UTF-8' | 'UTF-16LE' | 'UTF-16BE' | 'ISO-8859-1' | 'ISO-8859-15' | 'windows-1252';

/** A document as UTF-8, with the way back to its own encoding. */
export interface DecodedXml {
  /** Without a byte order mark. In UTF-8 documents: the document's own bytes. */
  readonly utf8: Uint8Array;
  readonly encoding: XmlEncoding;
  /** Size of the byte order mark of the document. */
  readonly markBytes: number;
  /** Returns the offset in the document for one in `utf8`. */
  offsetOf(utf8Offset: number): number;
  /** Encodes text. @throws {XmlFault} for a character that the encoding does not have */
  encode(text: string): Uint8Array;
}

const supported = 'supported: UTF-8, UTF-16, ISO-8859-1, ISO-8859-15 and windows-1252';
/** The XML declaration is at the start (XML 1.0 §2.8), and far shorter. */
const declarationMaxBytes = 1024;

/** Names of encodings (IANA), in capitals. US-ASCII is a part of UTF-8. */
const names: ReadonlyMap<string, XmlEncoding> = new Map([
  ['UTF-8', 'UTF-8'],
  ['UTF8', 'UTF-8'],
  ['US-ASCII', 'UTF-8'],
  ['ASCII', 'UTF-8'],
  ['ISO-8859-1', 'ISO-8859-1'],
  ['ISO_8859-1', 'ISO-8859-1'],
  ['LATIN1', 'ISO-8859-1'],
  ['ISO-8859-15', 'ISO-8859-15'],
  ['LATIN-9', 'ISO-8859-15'],
  ['WINDOWS-1252', 'windows-1252'],
  ['CP1252', 'windows-1252'],
]);

/**
 * Determines the encoding of a document by its byte order mark, its first bytes and its XML
 * declaration (XML 1.0 Appendix F), and decodes it. The parser checks whether UTF-8 is valid.
 * @throws {XmlFault} for an encoding that is not supported, and for other bytes than it allows
 */
export function decodeXml(bytes: Uint8Array): DecodedXml {
  const { encoding, markBytes } = encodingOf(bytes);
  const content = bytes.subarray(markBytes);
  // A parser would take it for a byte order mark, and not for the text outside the root that it is.
  if (encoding === 'UTF-8' && startsWithMark(content)) throw secondMark();
  if (encoding === 'UTF-8') {
    return {
      utf8: content,
      encoding,
      markBytes,
      offsetOf: (offset) => markBytes + offset,
      encode: (inserted) => Buffer.from(inserted),
    };
  }
  const text = decodedText(content, encoding);
  if (encoding.startsWith('UTF-16')) checkDeclared(text.slice(0, declarationMaxBytes), encoding);
  const utf8 = Buffer.from(text);
  if (startsWithMark(utf8)) throw secondMark();
  const unitBytes = encoding.startsWith('UTF-16') ? 2 : 1;
  return {
    ...{ utf8, encoding, markBytes },
    // Up to U+FFFF a character is one unit in each of these encodings, beyond it two.
    offsetOf: (offset) => markBytes + utf8.toString('utf8', 0, offset).length * unitBytes,
    encode: (inserted) => encodedText(inserted, encoding),
  };
}

function startsWithMark([first, second, third]: Uint8Array): boolean {
  return first === 0xef && second === 0xbb && third === 0xbf;
}

function secondMark(): XmlFault {
  return new XmlFault('the document has text outside the root element: a second byte order mark', { line: 1, column: 1 });
}

function encodingOf(bytes: Uint8Array): { readonly encoding: XmlEncoding; readonly markBytes: number } {
  const [first = -1, second = -1, third = -1, fourth = -1] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return { encoding: declared(bytes.subarray(3), 'UTF-8'), markBytes: 3 };
  if (first === 0xff && second === 0xfe) return { encoding: 'UTF-16LE', markBytes: 2 };
  if (first === 0xfe && second === 0xff) return { encoding: 'UTF-16BE', markBytes: 2 };
  if (first === 0x3c && second === 0 && third === 0x3f && fourth === 0) return { encoding: 'UTF-16LE', markBytes: 0 };
  if (first === 0 && second === 0x3c && third === 0 && fourth === 0x3f) return { encoding: 'UTF-16BE', markBytes: 0 };
  return { encoding: declared(bytes, undefined), markBytes: 0 };
}

/** Reads the encoding declaration. `marked`: the encoding that a byte order mark shows. */
function declared(bytes: Uint8Array, marked: 'UTF-8' | undefined): XmlEncoding {
  const name = declaredName(Buffer.from(bytes.subarray(0, declarationMaxBytes)).toString('latin1'));
  if (name === undefined) return 'UTF-8';
  if (/^(?:US-)?ASCII$/i.test(name) && bytes.some((byte) => byte >= 0x80))
    throw otherEncoding('of an encoding beyond ASCII', name, 'bytes');
  if (isUtf16(name)) throw otherEncoding('of an encoding with one byte for an ASCII character', name);
  const encoding = names.get(name.toUpperCase());
  if (encoding === undefined) throw new XmlFault(`the encoding ${name} is not supported; ${supported}`, { line: 1, column: 1 });
  if (marked !== undefined && encoding !== marked) throw otherEncoding(`of ${marked}`, name);
  return encoding;
}

/**
 * Checks that a document in UTF-16 declares no other encoding (XML 1.0 §4.3.3).
 * @throws {XmlFault}
 */
function checkDeclared(start: string, encoding: XmlEncoding): void {
  const name = declaredName(start);
  if (name !== undefined && !['UTF-16', encoding].includes(name.toUpperCase())) throw otherEncoding(`of ${encoding}`, name);
}

/**
 * Returns the name of the encoding in the XML declaration.
 * @throws {XmlFault} for a declaration that is too long to be read to its end, and for XML 1.1
 */
function declaredName(start: string): string | undefined {
  if (/^<\?xml\s/.test(start) && start.length >= declarationMaxBytes && !start.includes('?>'))
    throw new XmlFault(`the XML declaration has more than ${declarationMaxBytes} characters`, { line: 1, column: 1 });
  const [, , version = '1.0'] = /^<\?xml\s+version\s*=\s*(["'])([^"']*)\1/.exec(start) ?? [];
  // Readers of XML 1.1 take other characters for line ends (XML 1.1 §2.11), and Canonical XML is
  // one of XML 1.0.
  if (version !== '1.0')
    throw new XmlFault(`the version of XML ${quoted(version)} is not supported; supported: 1.0`, { line: 1, column: 1 });
  return /^<\?xml\s[^>]*?\sencoding\s*=\s*(["'])([A-Za-z][A-Za-z0-9._-]*)\1/.exec(start)?.[2];
}

function isUtf16(name: string): boolean {
  return /^utf-16(?:le|be)?$/i.test(name);
}

function otherEncoding(bytesOf: string, name: string, which = 'first bytes'): XmlFault {
  return new XmlFault(`the ${which} are those ${bytesOf}, but the XML declaration says ${name}`, { line: 1, column: 1 });
}

function decodedText(bytes: Uint8Array, encoding: Exclude<XmlEncoding, 'UTF-8'>): string {
  if (encoding === 'ISO-8859-1') return Buffer.from(bytes).toString('latin1');
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    // Decoders of the Web let bytes pass that windows-1252 does not define.
    if (encoding === 'windows-1252' && bytes.length > 1 && /[\u0081\u008d\u008f\u0090\u009d]/.test(text))
      throw new XmlFault(`the document is not valid ${encoding}`);
    return text;
  } catch (error) {
    if (error instanceof TypeError) throw new XmlFault(`the document is not valid ${encoding}`);
    throw error;
  }
}

/** Bytes of the characters of each encoding with one byte for each, once they were needed. */
const byteTables = new Map<XmlEncoding, ReadonlyMap<string, number>>();

function byteTableOf(encoding: Exclude<XmlEncoding, 'UTF-8'>): ReadonlyMap<string, number> {
  const known = byteTables.get(encoding);
  if (known !== undefined) return known;
  const table = new Map(Array.from({ length: 256 }, (_, byte) => [decodedText(Uint8Array.of(byte), encoding), byte]));
  byteTables.set(encoding, table);
  return table;
}

function encodedText(text: string, encoding: Exclude<XmlEncoding, 'UTF-8'>): Uint8Array {
  if (encoding === 'UTF-16LE') return Buffer.from(text, 'utf16le');
  if (encoding === 'UTF-16BE') return Buffer.from(text, 'utf16le').swap16();
  const bytes = byteTableOf(encoding);
  return Uint8Array.from(text, (character) => {
    const byte = bytes.get(character);
    if (byte === undefined) throw new XmlFault(`the encoding ${encoding} of the document has no character ${JSON.stringify(character)}`);
    return byte;
  });
}
