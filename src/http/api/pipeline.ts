import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditedRequest } from '../../audit/audited-request.ts';
import { NotHandedOver } from '../../audit/syslog/hand-over.ts';
import { RegistrationEnded, type Admission } from '../../clients/admission.ts';
import type { Caller, Role } from '../../clients/caller.ts';
import { whileCalledBy } from '../../clients/current-caller.ts';
import type { OperationPaceName } from '../../config/limits-config.ts';
import type { Ticket } from '../limits/request-quota.ts';
import { currentRequest, type Sender } from '../../telemetry/current-request.ts';
import { Problem } from '../problem.ts';
import { admitted } from './admitted.ts';
import { endingOf, noLongerRegistered, notHandedOver, overloaded } from './ending-of.ts';
import { reach } from './reach.ts';
import { recorded, type Ending } from './recorded.ts';
import type { RequestServices } from './request-services.ts';

/** A kind of request, with the data that the checks before its work need. */
export interface RequestKind {
  /** Name in metrics and in the audit log. */
  readonly path: string;
  readonly role: Role;
  /** Rate limit that applies in addition to the limits for all requests. */
  readonly pace?: OperationPaceName | undefined;
  /** Whether it is refused while the token is overloaded. */
  readonly usesToken: boolean;
}

/** A request whose client has the role that it needs. */
export interface AdmittedRequest {
  readonly services: RequestServices;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  readonly admission: Admission;
  readonly ticket: Ticket;
}

/**
 * The work of one request. The pipeline calls the methods in the order of their declaration.
 */
export interface RequestWork {
  /** Members of the request that every ending repeats. */
  readonly echo: Ending['echo'];
  /** Reads the request and carries it out. @throws any error; `endingOf` makes an ending of it */
  carryOut(audited: AuditedRequest): Promise<Ending | Problem>;
  /** Publishes the evidence of a success, once the audit record is on disk. */
  publish?(ending: Ending): Promise<Ending | Problem>;
  /** Cleans up after the record is written, however the request ended. */
  recorded?(): Promise<void>;
  /**
   * Returns a function that sends the answer. It begins to send in the turn of the event loop in
   * which it is called.
   * @throws {Problem}
   */
  answer(ending: Ending): () => Promise<void>;
  /** Undoes the work of a request whose answer is not sent. */
  undo?(): Promise<void>;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Serves a request of an operation or of the file transfer store: runs the checks in the contract's
 * order (§2), does the work, writes the audit record, and sends the answer.
 *
 * The usual request waits three times: for its body, for the token, and for the disk that takes its
 * record. Whatever else it needs is in memory, and the rooms answer at once: a function whose name
 * ends in `AtOnce` or `AtHand` returns undefined (or false) where something must be read first, and
 * its caller then waits for the general way, which has the same rules.
 * @throws {Problem}
 */
export function serve(
  kind: RequestKind,
  services: RequestServices,
  exchange: Exchange,
  workOf: (admitted: AdmittedRequest) => RequestWork,
): Promise<void> {
  if (services.draining.refusing)
    throw new Problem(503, 'the service is shutting down', { headers: { 'Retry-After': '5', Connection: 'close' } });
  return services.draining.during(async () => serveNow(kind, services, exchange, workOf));
}

async function serveNow(
  kind: RequestKind,
  services: RequestServices,
  { request, response }: Exchange,
  workOf: (admitted: AdmittedRequest) => RequestWork,
): Promise<void> {
  if (kind.usesToken) checkToken(services, request);
  checkRecords(services);
  const reached = await reach(kind, services, request, response);
  const { caller, admission, ticket, address } = reached;
  const identity = currentRequest();
  if (identity !== undefined) identity.sender = senderOf(caller);
  await admitted({ ...reached, identity }, response, async () => {
    const work = workOf({ services, request, response, caller, admission, ticket });
    let isAnswered = false;
    try {
      const ending = await endingAsRecorded(kind, services, work, { caller, address });
      if (ending instanceof Problem) throw ending;
      const send = work.answer(ending);
      // Writing the record may have taken long enough for the client to be revoked.
      await stillAdmitted(admission);
      services.guard.refusals.served();
      isAnswered = true;
      await send();
    } finally {
      if (!isAnswered) await work.undo?.();
    }
  });
}

async function endingAsRecorded(
  kind: RequestKind,
  services: RequestServices,
  work: RequestWork,
  { caller, address }: { readonly caller: Caller; readonly address: string | undefined },
): Promise<Ending | Problem> {
  try {
    return await recorded(
      services,
      { operation: kind, caller, address },
      async (audited) =>
        work.carryOut(audited).catch((error: unknown) => endingOf(error, { path: kind.path, echo: work.echo, log: services.log })),
      async (ending) => (await work.publish?.(ending)) ?? ending,
    );
  } finally {
    await work.recorded?.();
  }
}

/**
 * Does the work of an admitted request, and checks before and after that its client is registered.
 * @throws {RegistrationEnded}
 */
export async function whileAdmitted<T>(
  { services, admission }: Pick<AdmittedRequest, 'services' | 'admission'>,
  audited: AuditedRequest,
  work: () => Promise<T>,
): Promise<T> {
  if (!admission.entersAtOnce()) await admission.enter();
  const value = await whileCalledBy(admission.caller, async () => services.audit.carryOut(audited, work));
  if (!admission.confirmsAtOnce()) await admission.confirm();
  return value;
}

/** @throws {Problem} 403 if the client was revoked while its request ran */
export async function stillAdmitted(admission: Admission): Promise<void> {
  try {
    if (!admission.confirmsAtOnce()) await admission.confirm();
  } catch (error) {
    throw error instanceof RegistrationEnded ? noLongerRegistered() : error;
  }
}

function senderOf({ tenant, spkiSha256 }: Caller): Sender {
  return { tenant, client: spkiSha256 };
}

function checkToken({ busySeconds, callerAtOnce }: RequestServices, request: IncomingMessage): void {
  const caller = callerAtOnce(request);
  const seconds = busySeconds(caller === undefined ? undefined : senderOf(caller));
  if (seconds !== undefined) throw overloaded(seconds);
}

/** Before anything of the request is read: the record of its refusal could not be handed over either. */
function checkRecords({ audit }: RequestServices): void {
  try {
    audit.checkHandedOver();
  } catch (error) {
    throw error instanceof NotHandedOver ? notHandedOver(error) : error;
  }
}
