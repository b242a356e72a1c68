import type { Logger } from '../telemetry/log.ts';
import type { Approvals } from './approvals.ts';
import { answered } from './answered.ts';
import { type AdminAnswer, type AdminRequest, CommandRefused, type Done } from './protocol.ts';

/** Executes a command of a user who came by the socket for approvals. It always answers. */
export async function runApprovalCommand(
  { approvals, log }: { readonly approvals: Approvals; readonly log: Logger },
  request: AdminRequest,
  uid: number,
): Promise<AdminAnswer> {
  return answered(request.command, log, async (): Promise<Done> => {
    const { command } = request;
    if (command === 'approvals') return { result: approvals.list() };
    if (command === 'approve') return { result: await approvals.approve(request.id, request.digest, uid) };
    if (command === 'refuse') return { result: await approvals.refuse(request.id, request.digest, uid) };
    throw new CommandRefused(`${command}: this socket takes only approvals (admin.approvalSocketPath)`);
  });
}
