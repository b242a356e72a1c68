import type { ServerResponse } from 'node:http';
import type { Admission } from '../../clients/admission.ts';
import type { Ticket } from '../limits/request-quota.ts';

/**
 * Runs a request of a client. Its admission and its place end when the work is over and the answer
 * has left this process: a client that goes away leaves work behind, and the memory that it holds.
 */
export async function admitted(
  { admission, ticket }: { readonly admission: Admission; readonly ticket: Ticket },
  response: ServerResponse,
  run: () => Promise<void>,
): Promise<void> {
  let isClosed = response.destroyed;
  let isOver = false;
  const leave = (): void => {
    if (!isClosed || !isOver) return;
    admission.leave();
    ticket.release();
  };
  response.once('close', () => {
    isClosed = true;
    leave();
  });
  try {
    await run();
  } finally {
    isOver = true;
    leave();
  }
}
