import { resultCodes } from '../../result-codes.ts';
import type { ResultSpelling } from '../../operations/operation.ts';
import type { Schema, Schemas } from './schema.ts';
import { reference } from './schema.ts';

const majors = [
  ['SUCCESS', 'success'],
  ['REQUEST_INVALID', 'the request itself is wrong, and repeating it is of no use'],
  ['NOT_CARRIED_OUT', 'the request is valid, but could not be carried out'],
] as const;

const codes = [['SUCCESS', { minor: 0, text: 'success' }] as const, ...Object.entries(resultCodes)];

/** Member names of each spelling of the result object (interface, Result object). */
const spellings = {
  resultMajor: ['resultMajor', 'resultMinor', 'resultMessage'],
  majorCode: ['majorCode', 'minorCode', 'message'],
} as const satisfies Record<ResultSpelling, readonly string[]>;

const componentOf = { resultMajor: 'SignatureResult', majorCode: 'Result' } as const satisfies Record<ResultSpelling, string>;

/** Returns a reference to the result object of an operation. */
export function resultReference(spelling: ResultSpelling): Schema {
  return reference(componentOf[spelling]);
}

/**
 * The result objects and their codes. Generators of clients read the names from `x-enum-varnames`.
 */
export const resultSchemas: Schemas = {
  ResultMajor: {
    type: 'integer',
    enum: majors.map((_major, index) => index),
    description: majors.map(([, text], index) => `${index}: ${text}`).join('; '),
    'x-enum-varnames': majors.map(([name]) => name),
  },
  ResultMinor: {
    type: 'integer',
    enum: codes.map(([, { minor }]) => minor),
    description: 'which outcome it is; 0 with success',
    'x-enum-varnames': codes.map(([name]) => name),
    'x-enum-descriptions': codes.map(([, { text }]) => text),
  },
  ...Object.fromEntries(
    Object.entries(spellings).map(([spelling, [major, minor, message]]) => [
      componentOf[spelling as ResultSpelling],
      {
        type: 'object',
        description: `the outcome of ${spelling === 'resultMajor' ? 'a signature operation' : 'an operation on keys, certificates, messages or 2D-Doc codes'}`,
        properties: {
          [major]: reference('ResultMajor'),
          [minor]: reference('ResultMinor'),
          [message]: {
            type: 'string',
            description:
              '`success`, or what the caller must know of it, such as a level that was not reached; of a wrong field: its JSON Pointer first',
          },
        },
        required: [major, minor, message],
      },
    ]),
  ),
};
