import type { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import type { Role } from '../../clients/caller.ts';
import type { OperationPaceName } from '../../config/limits-config.ts';
import type { Context, Operation } from '../operation.ts';
import { cscRefusal, type CscVersion, type RefusalWords } from './errors.ts';
import { parseParameters } from './parse-parameters.ts';

interface CscMethod<Request, Answer extends object> {
  readonly version: CscVersion;
  /** Name in the standard, such as `credentials/list`. */
  readonly method: string;
  readonly summary: string;
  readonly details?: string;
  /** Default: signature. */
  readonly role?: Role;
  readonly pace?: OperationPaceName;
  readonly request: z.ZodType<Request>;
  readonly example: object;
  /** Members of the answer; none: 204 without a body. */
  readonly answer: z.ZodType<Answer>;
  readonly answersNothing?: boolean;
  readonly words?: RefusalWords;
  /** @throws {Refusal} */
  run(request: Request, context: Context): Promise<Answer>;
}

/**
 * Returns the entry of the table of operations for a method of the Cloud Signature Consortium's API.
 */
export function cscOperation<Request, Answer extends object>(described: CscMethod<Request, Answer>): Operation {
  const {
    version,
    method,
    summary,
    details,
    role = 'signature',
    pace,
    request,
    example,
    answer,
    answersNothing = false,
    words = {},
  } = described;
  return {
    ...{ path: `csc/${version}/${method}`, role, spelling: answersNothing ? 'csc without answer' : 'csc' },
    ...{ takesIdempotencyKey: false, summary, request, example, answer },
    ...(details === undefined ? {} : { details }),
    ...(pace === undefined ? {} : { pace }),
    async handle(body, context) {
      try {
        return await described.run(parseParameters(request, body), context);
      } catch (error) {
        throw error instanceof Refusal ? cscRefusal(error, version, words) : error;
      }
    },
  };
}
