import { z } from 'zod';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import { Refusal } from '../../result-codes.ts';
import { Base64, Text } from '../../fields/values.ts';

const at = '/signatureValues/signatureValueMapping';

/** Interface, remoteSign: `signatureValues`. */
export const SignatureValues = z.strictObject({
  signatureValueMapping: z
    .array(
      z.strictObject({
        id: Text.describe('that of the digest entry'),
        signatureValue: Base64.describe('base64; ECDSA: r and s one after the other, or DER'),
      }),
    )
    .max(documentsAbsoluteMax)
    .describe('one value for each digest entry of the session, in any order'),
});

/** Values by the id of the digest that each is of. */
export type ValueMapping = ReadonlyMap<string, Uint8Array>;

/** @throws {Refusal} FIELDS_INCONSISTENT for an id that is there twice, and for an empty list */
export function valueMapping({ signatureValueMapping: entries }: z.output<typeof SignatureValues>): ValueMapping {
  if (entries.length === 0) throw inconsistent(at, 'the list is empty: every digest of the session needs its value');
  const mapping = new Map<string, Uint8Array>();
  for (const [index, { id, signatureValue }] of entries.entries()) {
    if (mapping.has(id)) throw inconsistent(`${at}/${index}/id`, 'two values have this id');
    mapping.set(id, signatureValue);
  }
  return mapping;
}

/** The values in the order of the session's digests. @throws {Refusal} FIELDS_INCONSISTENT for an id that is missing or unknown */
export function valuesFor(ids: readonly string[], mapping: ValueMapping): Uint8Array[] {
  const known = new Set(ids);
  const unknown = [...mapping.keys()].findIndex((id) => !known.has(id));
  if (unknown !== -1) throw inconsistent(`${at}/${unknown}/id`, 'no digest of the session has this id');
  return ids.map((id) => {
    const value = mapping.get(id);
    if (value === undefined) throw inconsistent(at, `the value of the digest ${JSON.stringify(id)} is missing`);
    return value;
  });
}

function inconsistent(pointer: string, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: pointer, message });
}
