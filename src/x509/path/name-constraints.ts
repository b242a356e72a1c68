import { children, DerError, readAll, type DerElement } from '../../asn1/reader.ts';
import { expectTag, SequenceFields } from '../../asn1/sequence-fields.ts';
import { generalName, type GeneralName } from './general-names.ts';

/** Content of the extension nameConstraints (RFC 5280 4.2.1.10). */
export interface NameConstraints {
  readonly permitted: readonly GeneralName[];
  readonly excluded: readonly GeneralName[];
}

/** @throws {DerError}, also for a minimum or maximum, which RFC 5280 does not use */
export function readNameConstraints(value: Uint8Array): NameConstraints {
  const fields = new SequenceFields(expectTag(readAll(value), 0x30));
  const permitted = fields.tag === 0xa0 ? subtrees(fields.next()) : [];
  const excluded = fields.tag === 0xa1 ? subtrees(fields.next()) : [];
  fields.end();
  return { permitted, excluded };
}

function subtrees(element: DerElement): GeneralName[] {
  return children(element).map((subtree) => {
    const fields = new SequenceFields(expectTag(subtree, 0x30));
    const base = generalName(fields.next());
    if (fields.tag === 0x80) {
      const minimum = fields.next();
      if (minimum.content.length !== 1 || minimum.content[0] !== 0) throw new DerError('subtree with a minimum', minimum.start);
    }
    fields.end();
    return base;
  });
}
