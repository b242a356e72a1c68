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
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Token } from '../token/token.ts';
import { parseRequest } from './parse-request.ts';

/** What an operation may use: who asks, and the rooms below. */
export interface Context {
  readonly caller: Caller;
  readonly config: Config;
  readonly keys: Keyring;
  readonly token: Token;
  /** How texts reach people. */
  readonly messages: Messenger;
  /** How a one-time password reaches the owner of a key, where a gateway is configured. */
  readonly deliver?: Deliver | undefined;
  /** The certificate authorities by their configured names. */
  readonly authorities: ReadonlyMap<string, CertificateIssuer>;
  /** Whose tokens name the subjects of certificates. */
  readonly identityProviders: IdentityProviders;
  readonly revocations: Revocations;
  /** How signatures above baseline B are made for the caller. */
  readonly levels: Levels;
  /** Signatures between their two steps. */
  readonly sessions: Sessions;
  /** For work that would hold up the event loop. */
  readonly threads: WorkThreads;
  /** The file transfer store, where there is one. */
  readonly transfers: TransferStore | undefined;
  /** Names of files that are being written into directories of callers. */
  readonly stagedNames: StagedNames;
  /** What the request delivers outside of its answer: it is published once the request is settled and recorded. */
  readonly deliveries: Deliveries;
  /** What the audit log is told of this request beside its outcome. */
  readonly audit: AuditDetails;
}

/** How an operation spells its result object (interface, Result object). */
export type ResultSpelling = 'resultMajor' | 'majorCode';

export interface OperationDescription<Request, Answer extends object> {
  /** Group and name below the path prefix, such as `pki/removeKey`. */
  readonly path: `${'signature' | 'pki'}/${string}`;
  readonly role: Role;
  readonly spelling: ResultSpelling;
  /**
   * Whether a repetition with the same Idempotency-Key is answered by the first outcome (contract §10). The http room sees to it; an operation that
   * changes something puts `outcomeSteps` into the commit of its last change.
   */
  readonly takesIdempotencyKey: boolean;
  /** The limit that its requests count for, beside those of all requests (contract §10). The http room sees to it. */
  readonly pace?: OperationPaceName;
  /** What it does, in one sentence of the documentation. */
  readonly summary: string;
  readonly request: z.ZodType<Request>;
  /** A request that the documentation shows. */
  readonly example: object;
  /** What a success answers beside `result` and `requestID`. */
  readonly answer: z.ZodType<Answer>;
  /** Carries the request out. @throws {Refusal} */
  run(request: Request, context: Context): Promise<Answer>;
}

/** An operation as the http room mounts it. */
export interface Operation extends Omit<OperationDescription<unknown, object>, 'run' | 'request' | 'answer'> {
  readonly request: z.ZodType;
  readonly answer: z.ZodType;
  /** Checks the fields of a JSON object, then runs. @throws {Refusal} */
  handle(body: Readonly<Record<string, unknown>>, context: Context): Promise<object>;
}

/** One entry of the table of operations. */
export function operation<Request, Answer extends object>(description: OperationDescription<Request, Answer>): Operation {
  return {
    ...description,
    async handle(body, context) {
      return description.run(parseRequest(description.request, body), context);
    },
  };
}
