import type { ByteSource } from '../../asn1/byte-source.ts';
import type { Content } from '../../documents/content.ts';
import type { InputDocument } from '../../documents/document.ts';
import { PdfFault, PdfLocked } from '../../pdf/pdf-fault.ts';
import { PdfFile } from '../../pdf/pdf-file.ts';
import { NotQuick } from '../../pdf/work-limit.ts';
import { Fault } from '../../faults.ts';
import { Refusal } from '../../result-codes.ts';

/** @throws {Refusal} DOCUMENT_INVALID, NOT_PERMITTED_BY_DOCUMENT; {Fault} NOT_QUICK */
export function openPdf(
  source: ByteSource,
  password: string | undefined,
  at: string,
  { mustBeQuick }: { readonly mustBeQuick: boolean },
): PdfFile {
  if (source.bytes === 0) throw new Refusal('DOCUMENT_INVALID', { at, message: 'the document is empty' });
  const file = refusingPdf(() => new PdfFile(source, password, { mustBeQuick }), at);
  // Readers disagree on whether offsets count from the file or from its header, and with them
  // ByteRange.
  if (file.base > 0) throw new Refusal('DOCUMENT_INVALID', { at, message: `the PDF has ${file.base} bytes before its header` });
  return file;
}

export function contentOf({ source }: InputDocument): Content {
  if (!('content' in source)) throw new Error('a PAdES signature needs the content');
  return source.content;
}

/**
 * Runs a step on the PDF of a document.
 * @throws {Refusal} DOCUMENT_INVALID instead of a PdfFault, NOT_PERMITTED_BY_DOCUMENT instead of
 * PdfLocked
 * @throws {Fault} NOT_QUICK
 */
export function refusingPdf<T>(step: () => T, at: string): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof PdfFault) throw new Refusal('DOCUMENT_INVALID', { at, message: error.message, cause: error });
    if (error instanceof PdfLocked) throw new Refusal('NOT_PERMITTED_BY_DOCUMENT', { at, message: error.message, cause: error });
    if (error instanceof NotQuick) throw new Fault('NOT_QUICK', { cause: error });
    throw error;
  }
}
