import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Audit } from '../../audit/audit.ts';
import { RegistrationEnded, type Admission } from '../../clients/admission.ts';
import type { Caller, Role } from '../../clients/caller.ts';
import type { OperationPaceName } from '../../config/limits-config.ts';
import type { Ticket } from '../limits/request-quota.ts';
import { noLongerRegistered } from './ending-of.ts';
import type { Guard } from './guard.ts';
import { Problem } from '../problem.ts';

/** What stands between a request and what it asks for. */
interface Gate {
  readonly guard: Guard;
  readonly audit: Pick<Audit, 'refuseClient'>;
  draining(): boolean;
  callerOf(request: IncomingMessage): Promise<Caller | undefined>;
  admit(caller: Caller, role: Role, cut: () => void): Admission;
}

/** A request whose client has the role that it needs. */
interface ReachedRequest {
  readonly caller: Caller;
  readonly admission: Admission;
  readonly ticket: Ticket;
  readonly address: string | undefined;
}

/** @throws {Problem} 503 while the service stops */
export function checkServing({ draining }: Pick<Gate, 'draining'>): void {
  if (draining()) throw new Problem(503, 'the service stops', { headers: { 'Retry-After': '5', Connection: 'close' } });
}

interface Asked {
  readonly role: Role;
  readonly pace?: OperationPaceName | undefined;
}

/** Overload and rate, client, role: in the contract's order (§2). Who gets the ticket releases it. @throws {Problem} 503, 429, 403 */
export async function reach(asked: Asked, gate: Gate, request: IncomingMessage, response: ServerResponse): Promise<ReachedRequest> {
  const client = gate.guard.clientOf(request);
  const ticket = gate.guard.quota.admit(client);
  try {
    return { ...(await reachAs(client, asked, gate, request)), ticket };
  } catch (error) {
    // The refusal is on its way, or nobody waits for it.
    if (response.destroyed) ticket.release();
    else {
      response.once('close', () => {
        ticket.release();
      });
    }
    throw error;
  }
}

async function reachAs(
  client: string,
  { role, pace }: Asked,
  gate: Gate,
  request: IncomingMessage,
): Promise<Omit<ReachedRequest, 'ticket'>> {
  const { socket } = request;
  if (pace !== undefined) gate.guard.pace.take(pace, client);
  const address = socket.remoteAddress;
  const caller = await gate.callerOf(request);
  if (caller === undefined) {
    // A connection that was refused may have brought its first request already; it is counted as what it is.
    if (!socket.destroyed) gate.audit.refuseClient('not registered', address);
    throw new Problem(403, 'this client certificate is not registered');
  }
  if (!caller.roles.has(role)) {
    gate.audit.refuseClient(`the role ${role} is missing`, address);
    throw new Problem(403, `this operation needs the role "${role}"`);
  }
  return { caller, admission: gate.admit(caller, role, () => socket.destroy()), address };
}

/** @throws {Problem} 403 where the client was revoked while its request ran */
export async function stillAdmitted(admission: Admission): Promise<void> {
  try {
    await admission.confirm();
  } catch (error) {
    throw error instanceof RegistrationEnded ? noLongerRegistered() : error;
  }
}
