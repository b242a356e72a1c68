import { isUtf8 } from 'node:buffer';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { readSignedDocument } from '../../twoddoc/code/read-signed-document.ts';
import { readSymbol } from '../../twoddoc/picture/read-symbol.ts';
import { TwoDDocFault } from '../../twoddoc/two-d-doc-fault.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { readBounded } from './bounded-file.ts';

/** Many times the size of a picture of a code. */
const inputMaxBytes = 16 * 1024 * 1024;
const unitSeparator = 0x1f;
/** Errors that say that the argument names no file: it may be a code. */
const noFile: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

/**
 * Returns the bytes of the code that an argument names: a file, standard input (`-`) or the code
 * itself. Whether they are a code is not checked.
 * @throws {CommandError} if there is no such file, or it cannot be read
 * @throws {TwoDDocFault} if a picture or a text holds no code
 */
export async function codeGiven(argument: string): Promise<Uint8Array> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readBounded(argument, inputMaxBytes);
  } catch (error) {
    if (!noFile.includes((error as NodeJS.ErrnoException).code)) throw new CommandError(exitCodes.usage, `${argument}: ${reasonOf(error)}`);
    const text = trimmed(argument);
    if (/^DC\d/.test(text) || codeInBase64(text) !== undefined) return codeOfText(text);
    const shown = argument.length > 80 ? `${argument.slice(0, 80)}…` : argument;
    throw new CommandError(
      exitCodes.usage,
      `${shown}: there is no such file, and this is not a 2D-Doc code, which would begin with DC and a version`,
    );
  }
  if (bytes === undefined) {
    const name = argument === '-' ? 'standard input' : argument;
    throw new CommandError(exitCodes.usage, `${name}: this is longer than ${inputMaxBytes} bytes, so it is not a picture of a 2D-Doc code`);
  }
  return codeOfBytes(bytes);
}

function codeOfBytes(bytes: Buffer): Uint8Array {
  if (isPicture(bytes)) return readSymbol(bytes);
  // A signature of version 01 may end with any byte, so it is not UTF-8.
  if (!isUtf8(bytes)) return bytes;
  const text = trimmed(bytes.toString());
  return bytes.includes(unitSeparator) ? Buffer.from(text) : codeOfText(text);
}

/**
 * Returns the bytes that a text stands for: base64, XML, or a code whose separators may be written
 * as text.
 */
function codeOfText(text: string): Uint8Array {
  if (text.startsWith('<')) return readSignedDocument(Buffer.from(text));
  const decoded = codeInBase64(text);
  if (decoded !== undefined) return isPicture(decoded) ? readSymbol(decoded) : decoded;
  // A text with the real separator before the signature has no others that are only written.
  const code = text.includes('\u001f') ? text : text.replaceAll(writtenSeparator, separatorOf);
  const beyond = /[^\0-\u00ff]/u.exec(code)?.[0];
  if (beyond !== undefined) throw new TwoDDocFault(`the text has the character ${JSON.stringify(beyond)}, which a 2D-Doc code cannot hold`);
  if (code.startsWith('DC01') && /^[\0-\u007f]*$/.test(code.slice(-signatureBytes)))
    throw new TwoDDocFault('a code of version 01 ends with 64 bytes that text cannot hold: give it as a picture, a file or base64');
  return Buffer.from(code, 'latin1');
}

/** Bytes of a signature of version 01. */
const signatureBytes = 64;

/**
 * As people and programs write separators: `<GS>`, `\x1d`, `\u001d`, `\u{1d}`, and the symbols of
 * Unicode.
 */
const writtenSeparator = /<(GS|RS|US)>|\\(?:x|u00|u\{)(1[def])\}?|([␝␞␟])/giu;
const separators: ReadonlyMap<string, string> = new Map(
  ['\u001d', '\u001e', '\u001f'].flatMap((separator, index) =>
    ['GS RS US', '1D 1E 1F', '␝ ␞ ␟'].map((names): [string, string] => [names.split(' ')[index] ?? '', separator]),
  ),
);

function separatorOf(written: string, ...names: readonly unknown[]): string {
  const name = names.slice(0, 3).find((one) => typeof one === 'string');
  return separators.get(String(name).toUpperCase()) ?? written;
}

/** Returns a code or a picture that the text is base64 of; undefined for other text. */
function codeInBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/\s]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return /^DC\d\d/.test(bytes.toString('latin1', 0, 4)) || isPicture(bytes) ? bytes : undefined;
}

/** Whether a file begins as a PNG or a TIFF. */
function isPicture(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  return start === '\u0089PNG' || start === 'II*\0' || start === 'MM\0*';
}

/** Without a byte order mark, space in front, and the ends of lines behind. */
function trimmed(text: string): string {
  return text.trimStart().replace(/(?<![\r\n])[\r\n]+$/, '');
}
