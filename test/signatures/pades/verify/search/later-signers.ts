import { bytesInMemory } from '../../../../../src/asn1/byte-source.ts';
import { formFields } from '../../../../../src/pdf/form-fields.ts';
import { PdfFile } from '../../../../../src/pdf/pdf-file.ts';
import { softwareSigner } from '../../../software-signer.ts';
import { refusalOfRevision } from '../revised-pdf.ts';
import { made, type Order } from './pyhanko.ts';
import type { Subject } from './subjects.ts';

/** What pyHanko adds to a signed file: a kind of revision, and a field for it. */
interface Addition extends Order {
  readonly name: string;
}

function additionsTo({ name, level, pdf }: Subject): readonly Addition[] {
  const addition = (kind: string, field = ''): Addition => ({ name: `${kind}, ${name}`, pdf, order: { kind, field } });
  const always = [addition('store'), addition('stamp')];
  if (level === 1) return always;
  const fields = Array.from(formFields(new PdfFile(bytesInMemory(pdf))));
  const text = fields.find(({ type, flags }) => type === 'Tx' && (flags & 1) === 0);
  const place = fields.find(({ type, value }) => type === 'Sig' && value === null);
  return [
    ...[...always, addition('invisible', 'Second'), addition('visible', 'Second')],
    ...(text === undefined ? [] : [addition('fill', text.name)]),
    ...(place === undefined ? [] : [addition('place', place.name)]),
  ];
}

/**
 * Has pyHanko add validation data, a time-stamp, signatures and values of fields, and returns what
 * of it this service refuses, and what pyHanko does not make. `share`: one of how many is tried.
 */
export function refusedAdditions(subjects: readonly Subject[], directory: string, share: number): { refused: string[]; count: number } {
  const additions = subjects.flatMap(additionsTo).filter((_, index) => index % share === 0);
  // Its time-stamps need a key of RSA.
  const revised = made(directory, 'revise', additions, softwareSigner('Time-stamps', 'rsa'));
  const refused = additions.flatMap(({ name }, index) => {
    const pdf = revised[index];
    const finding = typeof pdf === 'object' ? refusalOfRevision(pdf) : `not made: ${pdf ?? ''}`;
    return finding === undefined ? [] : [`${name}: ${finding}`];
  });
  return { refused, count: additions.length };
}
