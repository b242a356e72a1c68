import { isMainThread } from 'node:worker_threads';
import { native } from './native.ts';

/**
 * Octets of shared memory that the event loop's thread may hold before its garbage collector hears
 * of it: it would go through the whole heap at each 64 MiB, which holds every request up. The
 * collectors of other threads hear of all of it.
 */
const untoldMaxBytes = isMainThread ? 256 * 1024 * 1024 : 0;
let heldBytes = 0;
let toldBytes = 0;

const gone = new FinalizationRegistry<number>((bytes) => {
  hold(-bytes);
});

function hold(bytes: number): void {
  heldBytes += bytes;
  const due = Math.max(0, heldBytes - untoldMaxBytes);
  native().adjustExternalMemory(due - toldBytes);
  toldBytes = due;
}

/**
 * Returns zeroed memory that threads share. The system allocates pages on write, so unwritten pages
 * take no memory.
 */
export function sharedMemory(bytes: number): SharedArrayBuffer {
  return counted(new SharedArrayBuffer(bytes));
}

/**
 * Returns the same memory after reporting its size to the garbage collector, which does not count
 * memory shared between threads and would let gigabytes accumulate before its next run. Call it in
 * each thread that receives the memory, since each has its own collector; work threads do so for
 * their tasks.
 */
export function counted(memory: SharedArrayBuffer): SharedArrayBuffer {
  const { byteLength } = memory;
  hold(byteLength);
  gone.register(memory, byteLength);
  return memory;
}

/** Counts the shared memory in a value that came from another thread, once wherever it is in it. */
export function countSharedIn(value: unknown): void {
  const seen = new Set<object>();
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    const one = ArrayBuffer.isView(next) ? next.buffer : next;
    if (typeof one !== 'object' || one === null || seen.has(one)) continue;
    seen.add(one);
    if (one instanceof SharedArrayBuffer) counted(one);
    else if (!(one instanceof ArrayBuffer)) for (const member of membersOf(one)) open.push(member);
  }
}

function membersOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return [...(value as ReadonlyMap<unknown, unknown>)];
  return value instanceof Set ? (value as ReadonlySet<unknown>) : Object.values(value);
}
