import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Audit } from '../../audit/audit.ts';
import type { Admission } from '../../clients/admission.ts';
import type { Caller, Role } from '../../clients/caller.ts';
import type { OperationPaceName } from '../../config/limits-config.ts';
import { addressOf } from '../limits/connections/source-address.ts';
import type { Ticket } from '../limits/request-quota.ts';
import { Problem } from '../problem.ts';
import type { RequestServices } from './request-services.ts';

interface ReachedRequest {
  readonly caller: Caller;
  readonly admission: Admission;
  readonly ticket: Ticket;
  readonly address: string | undefined;
}

interface Asked {
  readonly role: Role;
  readonly pace?: OperationPaceName | undefined;
}

interface Gate extends Pick<RequestServices, 'guard' | 'callerAtOnce' | 'callerOf' | 'admit'> {
  readonly audit: Pick<Audit, 'refuseClient'>;
}

/**
 * Checks overload and rate, client and role, in the contract's order (§2). The caller must release
 * the ticket.
 * @throws {Problem} 503, 429, 403
 */
export async function reach(asked: Asked, gate: Gate, request: IncomingMessage, response: ServerResponse): Promise<ReachedRequest> {
  const client = gate.guard.clientOf(request);
  const ticket = gate.guard.quota.admit(client);
  try {
    const reached = await reachAs(client, asked, gate, request);
    ticket.belongsTo(reached.caller.tenant);
    return { ...reached, ticket };
  } catch (error) {
    // The ticket is held until the refusal is sent, or the client has gone.
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
  const address = addressOf(socket);
  const caller = gate.callerAtOnce(request) ?? (await gate.callerOf(request));
  if (caller === undefined) {
    // A connection refused earlier may already have delivered its first request; that refusal has
    // been recorded with its own reason.
    if (!socket.destroyed) gate.audit.refuseClient('not registered', address);
    throw new Problem(403, 'this client certificate is not registered');
  }
  if (!caller.roles.has(role)) {
    const { name, tenant, spkiSha256 } = caller;
    gate.audit.refuseClient(`the role ${role} is missing`, address, { client: name, tenant, spki: spkiSha256.slice(0, 16) });
    throw new Problem(403, `this operation needs the role "${role}"`);
  }
  return { caller, admission: gate.admit(caller, role, () => socket.destroy()), address };
}
