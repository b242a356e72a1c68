/** Entry point of a work thread. */
import { sentError, type SentError } from '../faults.ts';
import { countSharedIn } from '../service/shared-memory.ts';
import { taskFinished } from './after-task.ts';

/** An exported function of a module, and its argument. */
export interface TaskCall {
  readonly module: string;
  readonly name: string;
  readonly task: object;
}

/** Modules that tasks will use. */
export interface PrepareCall {
  readonly modules: readonly string[];
}

/** Outcome of a task. Errors without a code are thrown. */
export type TaskOutcome = { readonly done: unknown } | { readonly failed: SentError };

export async function runTask({ module, name, task }: TaskCall): Promise<TaskOutcome> {
  countSharedIn(task);
  const exported = (await import(module)) as Readonly<Record<string, (task: object) => unknown>>;
  const run = exported[name];
  if (run === undefined) throw new TypeError(`${module} exports no function ${name}`);
  try {
    return { done: await run(task) };
  } catch (error) {
    const failed = sentError(error);
    if (failed === undefined) throw error;
    return { failed };
  } finally {
    // An idle thread blocks its event loop: what the task began would not go on.
    await taskFinished();
  }
}

/** Loads modules before a task needs them. */
export async function prepare({ modules }: PrepareCall): Promise<void> {
  for (const module of modules) await import(module);
}
