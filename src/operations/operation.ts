import type { z } from 'zod';
import type { AuditDetails } from '../audit/audited-request.ts';
import type { CertificateIssuer } from '../certificates/issue.ts';
import type { IdentityProviders } from '../certificates/jwt/identity-providers.ts';
import type { Revocations } from '../certificates/revocations.ts';
import type { Caller, Role } from '../clients/caller.ts';
import type { Config } from '../config/config.ts';
import type { Deliveries } from '../documents/deliveries.ts';
import type { StagedNames } from '../documents/paths/staged-names.ts';
import type { TransferStore } from '../documents/transfer/transfer-store.ts';
import type { OperationPaceName } from '../config/limits-config.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { Deliver } from '../keys/otp.ts';
import type { Messenger } from '../messages/messenger.ts';
import type { Levels } from '../signatures/levels/level-order.ts';
import type { Sessions } from '../signatures/sessions/sessions.ts';
import type { DigitalIdentities } from '../twoddoc/identities/digital-identities.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Token } from '../token/token.ts';
import { parseRequest } from './parse-request.ts';

/** Everything that an operation may use: the caller and the services below. */
export interface Context {
  readonly caller: Caller;
  readonly config: Config;
  readonly keys: Keyring;
  /** The digital identities of 2D-Doc that the configuration names. */
  readonly identities: DigitalIdentities;
  readonly token: Token;
  /** Sends texts to subscribers. */
  readonly messages: Messenger;
  /** Delivers a one-time password to the owner of a key, if a gateway is configured. */
  readonly deliver?: Deliver | undefined;
  /** The certificate authorities by their configured names. */
  readonly authorities: ReadonlyMap<string, CertificateIssuer>;
  /** Identity providers whose tokens name the subjects of certificates. */
  readonly identityProviders: IdentityProviders;
  readonly revocations: Revocations;
  /** Levels above baseline B for the caller. */
  readonly levels: Levels;
  /** Signatures between their two steps. */
  readonly sessions: Sessions;
  /** For work that would hold up the event loop. */
  readonly threads: WorkThreads;
  /** The file transfer store, if there is one. */
  readonly transfers: TransferStore | undefined;
  /** Names of files that are being written into directories of callers. */
  readonly stagedNames: StagedNames;
  /** Evidence delivered outside the answer, published once the request is settled and recorded. */
  readonly deliveries: Deliveries;
  /**
   * Words for the message of a success, which else is `success`: what the caller must know although
   * the request was carried out. An operation adds them before the commit that settles it.
   */
  readonly notices: string[];
  /** Details for the audit record of this request, besides its outcome. */
  readonly audit: AuditDetails;
}

/** Spelling of the result object (interface, Result object). */
export type ResultSpelling = 'resultMajor' | 'majorCode';

/**
 * How an operation answers: with a result object; or as the Cloud Signature Consortium has it, with
 * the members of the answer alone (or nothing, 204), and with `error` and an HTTP status if it fails.
 */
export type AnswerForm = ResultSpelling | 'csc' | 'csc without answer';

export interface OperationDescription<Request, Answer extends object> {
  /** Group and name below the path prefix, such as `pki/removeKey`. */
  readonly path: `${'signature' | 'pki' | 'creator' | 'csc'}/${string}`;
  readonly role: Role;
  readonly spelling: AnswerForm;
  /**
   * Whether a repetition with the same Idempotency-Key is answered with the first outcome (contract
   * §10). The http room does this; an operation that changes something adds `outcomeSteps` to the
   * commit of its last change.
   */
  readonly takesIdempotencyKey: boolean;
  /**
   * The rate limit for its requests, besides that of all requests (contract §10). The http room
   * enforces it.
   */
  readonly pace?: OperationPaceName;
  /** One sentence about the operation, for the documentation. */
  readonly summary: string;
  /** More sentences about it, for the documentation. */
  readonly details?: string;
  readonly request: z.ZodType<Request>;
  /** A request that the documentation shows. */
  readonly example: object;
  /** Members of a successful answer, besides `result` and `requestID`. */
  readonly answer: z.ZodType<Answer>;
  /** Members of the answer to a request that fails. Default: none. */
  readonly failure?: Readonly<Partial<Answer>>;
  /** Carries out the request. @throws {Refusal} */
  run(request: Request, context: Context): Promise<Answer>;
}

/** An operation as the http room mounts it. */
export interface Operation extends Omit<OperationDescription<unknown, object>, 'run' | 'request' | 'answer'> {
  readonly request: z.ZodType;
  readonly answer: z.ZodType;
  /** Checks the fields of a JSON object, then runs. @throws {Refusal} */
  handle(body: Readonly<Record<string, unknown>>, context: Context): Promise<object>;
}

/** Returns an entry of the table of operations. */
export function operation<Request, Answer extends object>(description: OperationDescription<Request, Answer>): Operation {
  return {
    ...description,
    async handle(body, context) {
      return description.run(parseRequest(description.request, body), context);
    },
  };
}
