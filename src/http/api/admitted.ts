import type { ServerResponse } from 'node:http';
import type { Admission } from '../../clients/admission.ts';
import type { RequestIdentity } from '../../telemetry/current-request.ts';
import type { Ticket } from '../limits/request-quota.ts';

interface Admitted {
  readonly admission: Admission;
  readonly ticket: Ticket;
  readonly identity?: Pick<RequestIdentity, 'leave'> | undefined;
}

/**
 * Runs a request of a client. Its admission and its place end when the work is over and the answer
 * has left this process: a client that goes away leaves work behind, and the memory that it holds.
 * Work that has no effect yet stops then.
 */
export async function admitted(
  { admission, ticket, identity }: Admitted,
  response: ServerResponse,
  run: () => Promise<void>,
): Promise<void> {
  let isClosed = response.destroyed;
  let isOver = false;
  if (isClosed) identity?.leave();
  const leave = (): void => {
    if (!isClosed || !isOver) return;
    admission.leave();
    ticket.release();
  };
  response.once('close', () => {
    isClosed = true;
    if (!response.writableFinished) identity?.leave();
    leave();
  });
  try {
    await run();
  } finally {
    isOver = true;
    leave();
  }
}
