import type { ServerResponse } from 'node:http';
import type { Admission } from '../clients/admission.ts';

/** Runs a request of a client. Its admission ends when both the work is over and the answer has left this process. */
export async function admitted(admission: Admission, response: ServerResponse, run: () => Promise<void>): Promise<void> {
  let isClosed = response.destroyed;
  let isOver = false;
  response.once('close', () => {
    isClosed = true;
    if (isOver) admission.leave();
  });
  try {
    await run();
  } finally {
    isOver = true;
    if (isClosed) admission.leave();
  }
}
