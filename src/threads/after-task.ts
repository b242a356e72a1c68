/**
 * Work that must end before this thread takes its next task, such as the repair of what a task
 * broke.
 */
let pending: Promise<unknown> = Promise.resolve();

/** Has a work thread wait for something at the end of its task. */
export function finishWithTask(work: Promise<unknown>): void {
  pending = Promise.allSettled([pending, work]);
}

/** Resolves when nothing is left to wait for. */
export async function taskFinished(): Promise<void> {
  for (let last: unknown; last !== pending;) {
    last = pending;
    await pending;
  }
}
