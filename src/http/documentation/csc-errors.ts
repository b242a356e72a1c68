import { answerHeaders, anyRequest, headersOf, problems, type OpenApiResponse, type ProblemStatus } from './problems.ts';
import { reference, type Schema } from './schema.ts';

const statuses: readonly ProblemStatus[] = [...anyRequest, 413, 415];

/** What a client reads first: a method refuses with 400, whatever the reason. */
const texts: Partial<Record<ProblemStatus, string>> = {
  400: 'The request is wrong, or was not carried out; `error` and `error_description` say why.',
};

/** Components of the document: the errors of the Cloud Signature Consortium's API (2.0.0.2, clause 10). */
export const cscErrors: Readonly<Record<string, OpenApiResponse>> = Object.fromEntries(
  statuses.map((status) => {
    const [name, text] = problems[status];
    return [
      `Csc${name}`,
      {
        description: texts[status] ?? text,
        headers: answerHeaders(headersOf(String(status))),
        content: {
          'application/json': { schema: reference('CscError') },
          // What is wrong before the path is known.
          ...(status === 400 || status === 408 || status === 431 ? { 'application/problem+json': { schema: reference('Problem') } } : {}),
        },
      },
    ];
  }),
);

/** References to them, by status. */
export const cscErrorReferences: Readonly<Record<string, OpenApiResponse>> = Object.fromEntries(
  statuses
    .toSorted((one, other) => one - other)
    .map((status) => [String(status), { $ref: `#/components/responses/Csc${problems[status][0]}` }]),
);

export const cscErrorSchema: Schema = {
  type: 'object',
  description: "an error of the Cloud Signature Consortium's API",
  properties: {
    error: { type: 'string', description: 'which error it is, such as invalid_request' },
    error_description: { type: 'string', description: 'what was wrong' },
  },
  required: ['error', 'error_description'],
};
