import { z } from 'zod';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import { Refusal } from '../../result-codes.ts';
import { limitedBy } from '../../fields/documented.ts';
import { Base64, Text } from '../../fields/values.ts';

const at = '/signatureValues/signatureValueMapping';

/** Interface, remoteSign: `signatureValues`. */
export const SignatureValues = z
  .strictObject({
    signatureValueMapping: z
      .array(
        z
          .strictObject({
            id: Text.describe('ID of the digest entry'),
            signatureValue: Base64.describe('base64; ECDSA: r and s concatenated, or DER'),
          })
          .meta({ id: 'SignatureValue', description: 'the value of a digest of the session' }),
      )
      .max(documentsAbsoluteMax)
      .meta({ description: 'one value for each digest entry of the session, in any order', minItems: 1, ...limitedBy('documentsMax') }),
  })
  .meta({ id: 'SignatureValues', description: 'values that were made elsewhere' });

/** Values by the ID of their digest. */
export type ValueMapping = ReadonlyMap<string, Uint8Array>;

/**
 * Returns the values by ID.
 * @throws {Refusal} FIELDS_INCONSISTENT for a duplicate ID or an empty list
 */
export function valueMapping({ signatureValueMapping: entries }: z.output<typeof SignatureValues>): ValueMapping {
  if (entries.length === 0) throw inconsistent(at, 'the list is empty: every digest of the session needs a value');
  const mapping = new Map<string, Uint8Array>();
  for (const [index, { id, signatureValue }] of entries.entries()) {
    if (mapping.has(id)) throw inconsistent(`${at}/${index}/id`, 'duplicate ID');
    mapping.set(id, signatureValue);
  }
  return mapping;
}

/**
 * Checks that each signature of the session has one value.
 * @throws {Refusal} FIELDS_INCONSISTENT for an ID that is missing or unknown
 */
export function checkIds(signatures: readonly { readonly id: string }[], mapping: ValueMapping): void {
  const known = new Set(signatures.map(({ id }) => id));
  const unknown = [...mapping.keys()].findIndex((id) => !known.has(id));
  if (unknown !== -1) throw inconsistent(`${at}/${unknown}/id`, 'no digest of the session has this id');
  const missing = [...known].find((id) => !mapping.has(id));
  if (missing !== undefined) throw inconsistent(at, `the value of the digest ${JSON.stringify(missing)} is missing`);
}

function inconsistent(pointer: string, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: pointer, message });
}
