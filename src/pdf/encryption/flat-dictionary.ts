import { isArray, PdfDictionary, type PdfObject } from '../objects.ts';
import { PdfFault } from '../pdf-fault.ts';

const valuesMax = 10_000;
const depthMax = 3;

/**
 * Returns a dictionary that says how a file or a stream is encrypted, with the references of its
 * values followed, and of those inside them. `resolved` follows one.
 * @throws {PdfFault} beyond 10,000 values
 */
export function flatDictionary(dictionary: PdfDictionary, resolved: (object: PdfObject) => PdfObject): PdfDictionary {
  let values = 0;
  const flat = (object: PdfObject, depth: number): PdfObject => {
    values += 1;
    if (values > valuesMax) throw new PdfFault('what says how the file is encrypted has too many values');
    const found = resolved(object);
    if (depth === 0) return found;
    if (isArray(found)) return found.map((one) => flat(one, depth - 1));
    if (found instanceof PdfDictionary) return new PdfDictionary(found.entries().map(([key, value]) => [key, flat(value, depth - 1)]));
    return found;
  };
  return new PdfDictionary(dictionary.entries().map(([key, value]) => [key, flat(value, depthMax)]));
}
